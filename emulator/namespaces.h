/* SPDX-License-Identifier: Apache-2.0
 *
 * namespaces - processes in new namespaces, and who they are there. */
#ifndef EMULATOR_NAMESPACES_H
#define EMULATOR_NAMESPACES_H
#include <stdint.h>
#include <sys/types.h>

#include "emulator/rack.h"

struct err;

/* fork() into new namespaces (CLONE_NEW*; 0: none): 0 in the child, its pid here with a descriptor
 * of it, or a negative errno. Runs no handlers of pthread_atfork(): libuv's would close descriptors
 * that in a rack's process are others'. */
pid_t namespaces_fork(uint64_t flags, int *pidfd);
/* Makes the caller's uid root in the user namespace of `pid`, a child of ours; RACK_RANGE maps the
 * uids of /etc/subuid behind it. */
int namespaces_map(pid_t pid, enum rack_mode mode, struct err *err);
/* Why no user namespace can be made, in words, for an errno of namespaces_fork(). */
const char *namespaces_why(int error);
#endif
