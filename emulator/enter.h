/* SPDX-License-Identifier: Apache-2.0
 *
 * enter - runs a command in an emulated host beside its daemon. */
#ifndef EMULATOR_ENTER_H
#define EMULATOR_ENTER_H
#include <stddef.h>
#include <sys/types.h>

struct rackd;
struct rackd_fds;

/* A file in memory with the words of the command and of its environment, for the rack; or a
 * negative errno. */
int enter_pack(char *const *argv, char *const *env);
/* In the rack's process: runs it, with the descriptors of RACKD_EXEC; a process of the rack's own
 * waits for it and sends RACKD_EXEC_EXIT with `id`. `pidfd` is that of the host's first process. */
void enter_run(const struct rackd *r, size_t host, int pidfd, const struct rackd_fds *fds,
               unsigned id);
#endif
