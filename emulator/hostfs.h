/* SPDX-License-Identifier: Apache-2.0
 *
 * hostfs - the file system of an emulated host: the caller's, not writable, with private and
 * thrown-away layers where a container has its own, and the host's base as /opt/ml.
 *
 * Runs in the host's first process, in its own mount namespace. */
#ifndef EMULATOR_HOSTFS_H
#define EMULATOR_HOSTFS_H
#include <stdbool.h>

struct err;

#define HOSTFS_BASE   "/opt/ml"
#define HOSTFS_OUTPUT "/opt/ml/output"

struct hostfs {
    const char *name;
    const char *base;   /* becomes /opt/ml */
    const char *hosts;  /* the file that is shared as /etc/hosts */
    const char *hide;   /* a folder that must not be seen, or NULL */
    const char *daemon; /* its real path; the folder it is in is visible where it is */
    unsigned gpus;      /* pretended where the machine has none */
    long disk_mib;      /* of /opt/ml/output; 0: the caller's disk */
    bool rootless;      /* the files of the caller's root are nobody's */
    bool single;        /* one uid is mapped */
};

/* From the return on the root of the process is the host's. `output` (disk_mib): a descriptor of
 * /opt/ml/output, which outlives the host's namespaces; else -1. */
int hostfs_enter(const struct hostfs *f, int *output, struct err *err);
/* The kernel's switches and the root folder are not writable from now on. */
int hostfs_seal(struct err *err);
/* What is in the `output` of a host that has ended replaces that in the base's output folder. */
void hostfs_keep_output(int output, const char *base);
/* All files below the base that belong to another user are the caller's (root's here) again. */
void hostfs_take_back(const char *base);
#endif
