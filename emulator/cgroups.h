/* SPDX-License-Identifier: Apache-2.0
 *
 * cgroups - a limit of memory for an emulated host, by the kernel's memory controller (version 1 or
 * 2), where that may be written. */
#ifndef EMULATOR_CGROUPS_H
#define EMULATOR_CGROUPS_H
#include <sys/types.h>

struct err;

/* A group `name` with the limit, and `pid` in it. Its folder, to cgroups_remove(); NULL with `err`.
 */
char *cgroups_limit(const char *name, pid_t pid, long mib, struct err *err);
void cgroups_remove(char *folder); /* once nothing runs in it; frees it */
#endif
