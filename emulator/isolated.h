/* SPDX-License-Identifier: Apache-2.0
 *
 * isolated - the caller's side of hosts made of namespaces: what its files share.
 *
 * isolated_open.c makes the rack's process (rackd.c) and awaits its hosts; isolated.c passes orders
 * on, reads the daemons' output, and ends it all. */
#ifndef EMULATOR_ISOLATED_H
#define EMULATOR_ISOLATED_H
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <uv.h>

#include "emulator/hostnames.h"
#include "emulator/rack_ops.h"
#include "emulator/watch.h"

struct isolated_host {
    struct watch watch;
    int fds[WATCH_STREAMS]; /* to read its output from, until the watch has them; -1: none */
};

struct isolated {
    struct rack rack;
    uv_loop_t *loop;
    struct rack_calls calls;
    void *data;
    struct isolated_host *hosts;
    struct hostnames names;
    char *hosts_file;
    struct cgroups *groups;
    pid_t pid;
    int pidfd;
    int control, switch_rules;
    uv_poll_t orders;
    size_t handles;
    bool closing, broken;
};

extern const struct rack_ops isolated_ops;
/* All hosts are up: from now on the loop has handles, which the closing needs. */
void isolated_listen(struct isolated *s);
/* Ends the rack's process and frees everything, where isolated_listen() was not reached. */
void isolated_drop(struct isolated *s);
#endif
