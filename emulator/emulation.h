/* SPDX-License-Identifier: Apache-2.0
 *
 * emulation - one run of a job on emulated hosts: their daemons, faults at their times, signals,
 * logs, and how each host has ended.
 *
 * The folders are the caller's. SIGINT, SIGTERM and SIGHUP stop the job as the platform would;
 * another SIGINT ends it at once. */
#ifndef EMULATOR_EMULATION_H
#define EMULATOR_EMULATION_H
#include <stdbool.h>
#include <stddef.h>

#include "emulator/fault.h"
#include "emulator/rack.h"
#include "emulator/tree.h"

struct err;
struct strv;

struct emulation_spec {
    const struct tree_hosts *hosts;
    enum rack_mode mode;
    bool ipv6;
    const char *state;       /* folder of the emulation */
    const char *hide;        /* as rack_spec has it */
    const char *daemon;      /* absolute path */
    const struct strv *sets; /* NAME=VALUE, its settings */
    const struct strv *env;  /* the container's, of every host */
    const unsigned *gpus;    /* per host */
    const struct fault *faults;
    size_t n_faults;
    int logs[2]; /* descriptors for the hosts' standard output and error */
    /* Called once, when the hosts are up and before a daemon starts: the last word on their files.
     * NULL is fine. */
    int (*configure)(void *data, enum rack_mode mode, struct err *err);
    void *data;
};

enum emulation_fate {
    EMULATION_NEVER, /* its daemon was not started */
    EMULATION_ENDED, /* by itself */
    EMULATION_FAULT  /* was killed: its status is not the job's */
};

struct emulation_host {
    enum emulation_fate fate;
    int status; /* as waitpid() has it; of EMULATION_NEVER 0 */
};

struct emulation_end {
    struct emulation_host *hosts; /* for free() */
    char *isolation;              /* one line; for free() */
    bool differs;                 /* not all hosts have ended alike */
    int status;                   /* exit status of the job: of its first host that counts */
};

/* Runs until every daemon has ended; tells the user on standard error what is going on. -1 with
 * `err` when hosts cannot be made or have broken. `end` is to be given to emulation_end_done()
 * anyway. */
int emulation_run(const struct emulation_spec *spec, struct emulation_end *end, struct err *err);
void emulation_end_done(struct emulation_end *end);
/* The exit status that stands for one of waitpid(). */
int emulation_exit_status(int status);
#endif
