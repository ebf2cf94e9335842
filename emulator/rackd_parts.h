/* SPDX-License-Identifier: Apache-2.0
 *
 * rackd_parts - what the files of the rack's process share: its state.
 *
 * rackd.c serves, rackd_hosts.c makes the hosts and their network. */
#ifndef EMULATOR_RACKD_PARTS_H
#define EMULATOR_RACKD_PARTS_H
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "emulator/rackd.h"

struct rackd_member { /* a host */
    pid_t pid;        /* 0: it has ended */
    int pidfd, line;
    int output; /* of a limited disk, else -1 */
};

struct rack_process {
    struct rackd in;
    struct rackd_member *hosts;
    size_t n;
    pid_t network; /* the switch */
    int signals;   /* signalfd */
    bool closing;
};

/* Makes the namespaces fit for use, the hosts, and the switch between them. */
int rackd_make_hosts(struct rack_process *rack, struct err *err);
#endif
