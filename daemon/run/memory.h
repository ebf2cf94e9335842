/* SPDX-License-Identifier: Apache-2.0
 *
 * memory - what the memory controller of our cgroup counts: the proof of an out-of-memory kill.
 *
 * Reads cgroup v2 memory.events and memory.max, v1 memory.oom_control and memory.limit_in_bytes,
 * below a root that tests can replace. */
#ifndef RUN_MEMORY_H
#define RUN_MEMORY_H
#include "core/outcome.h"

struct memory_watch {
    char events[512]; /* path of the file that counts; "" where there is none */
    char limit[512];
    long before; /* oom_kill at the start */
    char why[160];
};

/* Finds the files for this process below `root` (/sys/fs/cgroup) and reads the first count. */
void memory_open(struct memory_watch *w, const char *root);
/* The same for the process that has `cgroups` as its /proc/PID/cgroup. */
void memory_open_as(struct memory_watch *w, const char *root, const char *cgroups);
/* What was counted since. */
void memory_read(const struct memory_watch *w, struct memory_facts *out);
#endif
