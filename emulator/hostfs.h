/* SPDX-License-Identifier: Apache-2.0
 *
 * hostfs - the file system of one emulated host, made by its first process in a mount namespace of
 * its own: the caller's, to be read; /etc, /opt, /usr, /var, /root and /srv may be written, which
 * nobody else sees; /opt/ml is the host's base; /tmp, /run, /dev are its own. */
#ifndef EMULATOR_HOSTFS_H
#define EMULATOR_HOSTFS_H
#include <stdbool.h>

struct err;

struct hostfs {
    const char *name;
    const char *base;
    const char *hosts_file; /* becomes /etc/hosts, and may change in place */
    const char *program;    /* its folder is visible, wherever it is */
    const char *hide;       /* a folder that is not, or NULL */
    unsigned gpus;          /* pretended devices, if there is none */
    long disk_mib;          /* of /opt/ml/output; 0: the base's own */
    bool root;              /* no user namespace */
};

/* From then on "/" is the host's. -errno with the sentence. */
int hostfs_build(const struct hostfs *h, struct err *err);
#endif
