/* SPDX-License-Identifier: Apache-2.0
 *
 * mounts - the few kinds of mount a host's tree is made of, in the caller's mount namespace.
 *
 * 0, or a negative errno with a sentence in `err` (NULL is fine) that names the place. */
#ifndef EMULATOR_MOUNTS_H
#define EMULATOR_MOUNTS_H

struct err;
struct strv;

/* `from`, with what is mounted below it, also at `to`. */
int mounts_bind(const char *from, const char *to, struct err *err);
/* The same, not writable there. */
int mounts_bind_read_only(const char *from, const char *to, struct err *err);
/* The same for what a descriptor (O_PATH) is open on. */
int mounts_bind_fd(int from, const char *to, struct err *err);
/* An empty folder in memory; `options` as "mode=755,size=16m". */
int mounts_memory(const char *at, const char *options, struct err *err);
/* What is mounted at `at` and below is not writable from now on. */
int mounts_read_only(const char *at, struct err *err);
/* A file system of the kernel: "proc", "sysfs", "cgroup" ...; `options` may be NULL. */
int mounts_kernel(const char *type, const char *at, const char *options, struct err *err);
/* The places in `table` (the text of /proc/self/mountinfo) that are below the folder `top`, in the
 * order they were mounted in, without those that lie below another of them. */
void mounts_below(const char *table, const char *top, struct strv *places);
#endif
