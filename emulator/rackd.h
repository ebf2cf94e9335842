/* SPDX-License-Identifier: Apache-2.0
 *
 * rackd - process 1 of a rack: makes the network and the hosts, carries out what the caller asks,
 * and tells of ends. When it ends, everything in the rack does.
 *
 * It and the caller exchange messages on a SOCK_SEQPACKET socket. At first the caller sends
 * RACKD_GO, when the uid map is written; the answers are a RACKD_HOST for each host with the two
 * reading ends of its output, then RACKD_READY, or RACKD_FAILED at any time. When the caller closes
 * the socket, or shuts it down, the hosts are killed and tidied up after. */
#ifndef EMULATOR_RACKD_H
#define EMULATOR_RACKD_H
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "emulator/rack.h"

struct cgroups;

enum rackd_word {
    /* from the caller */
    RACKD_GO,
    RACKD_START,  /* host */
    RACKD_SIGNAL, /* host, number */
    RACKD_FREEZE, /* host, number: 1 or 0 */
    RACKD_EXEC,   /* host, id; four descriptors: the words (enter.h), then 0, 1 and 2 */
    /* from the rack */
    RACKD_HOST,
    RACKD_READY,
    RACKD_FAILED,   /* err */
    RACKD_EXIT,     /* host, number: as waitpid() has it */
    RACKD_EXEC_EXIT /* id, number */
};

struct rackd_message {
    enum rackd_word word;
    size_t host;
    int number;
    unsigned id;
    struct err err;
};

#define RACKD_FDS_MAX 4

struct rackd_fds {
    int fd[RACKD_FDS_MAX];
    size_t n;
};

/* One message, with descriptors to pass on (NULL: none), which stay the caller's. 0 or a negative
 * errno; waits while the other side is behind. */
int rackd_send(int fd, const struct rackd_message *m, const struct rackd_fds *fds);
/* 1, 0 at the end, or a negative errno. `fds` (NULL: they are closed) are the caller's to close. */
int rackd_receive(int fd, struct rackd_message *m, struct rackd_fds *fds);

struct rackd {
    const struct rack_spec *spec;
    enum rack_mode mode;
    const char *hosts;  /* the file */
    const char *daemon; /* real path of argv[0] */
    const char *hide;   /* real path, or NULL */
    struct cgroups *groups;
    int control;      /* our end */
    int switch_rules; /* the switch's end */
};

/* In the first process of the rack's namespaces, which ns_clone() has made. */
_Noreturn void rackd_run(const struct rackd *r);
#endif
