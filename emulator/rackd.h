/* SPDX-License-Identifier: Apache-2.0
 *
 * rackd - the process of a rack: process 1 of its own namespaces, owner of the network and of all
 * hosts. Does what its caller says over a socket, and ends with it. */
#ifndef EMULATOR_RACKD_H
#define EMULATOR_RACKD_H
#include "base/err.h"
#include "emulator/rack.h"
#include "emulator/switch.h"

#include <stdbool.h>
#include <stddef.h>

enum rackd_order { RACKD_START, RACKD_SIGNAL, RACKD_FREEZE, RACKD_ROAD, RACKD_EXEC };

#define RACKD_WORDS_MAX (48 << 10)

/* From the caller: one datagram; RACKD_EXEC has three descriptors with it, and its words (argv, an
 * empty word, environment) behind, each with its NUL. */
struct rackd_command {
    enum rackd_order order;
    size_t host;
    int number; /* of a signal; freeze: on or off */
    unsigned id;
    struct switch_rule rule;
};

enum rackd_news { RACKD_UP, RACKD_FAILED, RACKD_EXITED, RACKD_COMMAND_EXITED };

struct rackd_event {
    enum rackd_news news;
    size_t host;
    unsigned id;
    int status; /* as waitpid() has it */
    struct err err;
};

struct rackd_spec {
    const struct rack_spec *rack; /* .mode is not AUTO */
    const char *hosts_file;
    const int (*outputs)[2]; /* of each host: what the daemon's stdout and stderr are */
    int program;             /* the daemon's file */
    int socket;              /* SOCK_SEQPACKET to the caller */
    int go;                  /* one byte comes when the uids are mapped */
};

_Noreturn void rackd_run(const struct rackd_spec *spec);
#endif
