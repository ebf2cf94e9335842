/* SPDX-License-Identifier: Apache-2.0
 *
 * cgroups - a control group for each host of a rack: memory limits and freezing, version 1 or 2,
 * where the caller may make such groups.
 *
 * They are made below the caller's own group, or the nearest above it that allows it. */
#ifndef EMULATOR_CGROUPS_H
#define EMULATOR_CGROUPS_H
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct err;
struct cgroups;

/* Groups for `n` hosts. Without `memory` there is always a result, which may be of no use; with it
 * NULL and `err` (-EOPNOTSUPP) where no limit can be set. Removes what an ended process has left.
 */
struct cgroups *cgroups_open(size_t n, bool memory, struct err *err);
/* In the process that makes the hosts: opens their groups. */
void cgroups_prepare(struct cgroups *c);
/* The group a host's first process begins in (ns_clone()), -1: none. Borrowed. */
int cgroups_folder(const struct cgroups *c, size_t host);
int cgroups_limit(const struct cgroups *c, size_t host, long mib, struct err *err);
/* Puts the process into the host's limit where it has not begun in it. 0 or a negative errno. */
int cgroups_enter(const struct cgroups *c, size_t host, pid_t pid);
/* All processes of the host stop, or go on. False: it cannot be done this way. */
bool cgroups_freeze(const struct cgroups *c, size_t host, bool on);
/* The hosts' processes have ended. NULL is fine. */
void cgroups_close(struct cgroups *c);
#endif
