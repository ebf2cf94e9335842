/* SPDX-License-Identifier: Apache-2.0
 *
 * namespaces - processes in namespaces of their own: making them, uid maps, and less power.
 *
 * Errors are sentences that say what the machine refuses and, where known, what would allow it. */
#ifndef EMULATOR_NAMESPACES_H
#define EMULATOR_NAMESPACES_H
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;

/* The uids (or gids) of a user's line in /etc/subuid. */
struct ns_range {
    unsigned long first, count;
};
struct ns_ranges {
    struct ns_range uids, gids;
};

/* clone3(): 0 in the child, -1 with errno. `pidfd` may be NULL; `group`: the folder of a version 2
 * control group to begin in, or -1. The child has a copy of everything, as after fork(), but what
 * libraries asked for to happen then does not: it would close descriptors that are no longer
 * theirs. The caller must have no other thread that allocates. */
pid_t ns_clone(uint64_t flags, int *pidfd, int group);

/* What `lines` of /etc/subuid have for this user, by name or number, with at least NS_RANGE_LEAST
 * of them. 0, or -ENOENT. */
#define NS_RANGE_LEAST 1000
int ns_range_find(const char *lines, const char *name, uid_t uid, struct ns_range *out);
/* The ranges of the caller, if they can be used: newuidmap and newgidmap are there. */
int ns_ranges_find(struct ns_ranges *out, struct err *err);
/* Maps the caller's uid and gid to 0 in the new user namespace of `pid`, and `ranges` (NULL: no
 * more) to those from 1. */
int ns_map(pid_t pid, const struct ns_ranges *ranges, struct err *err);

/* Keeps of the privileges what a container has by default. Of the calling process and what it will
 * execute. 0 or a negative errno. */
int ns_drop_power(void);
/* Closes all descriptors from 3 on but these; `keep` is sorted by it. */
void ns_keep_fds(int *keep, size_t n);
/* All signals as a new process has them, none blocked. */
void ns_reset_signals(void);
#endif
