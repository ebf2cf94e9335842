/* SPDX-License-Identifier: Apache-2.0
 *
 * emulate - what `serry emulate` was asked for, and the job that this means. */
#ifndef CTL_EMULATE_H
#define CTL_EMULATE_H
#include <stdbool.h>
#include <stddef.h>

#include "emulator/rack.h"
#include "emulator/tree.h"

struct err;

#define EMULATE_GROUPS_MAX 16

struct emulate_options {
    const char *hosts, *ranks, *source, *entry, *distribution, *instance_type, *tree, *state, *gpus;
    const char *mode, *host;
    struct strv hps, channels, groups, env, sets, faults;
    bool keep, ipv6, no_isolation, json, help;
};

/* Reads the words behind the verb; all that are no options, and the whole command behind `exec`, go
 * to `words`. */
int emulate_options_read(int argc, char **argv, struct emulate_options *o, struct strv *words,
                         struct err *err);
void emulate_options_done(struct emulate_options *o);

/* Borrows from the options. Owner: emulate_job_done(). */
struct emulate_job {
    struct tree_spec tree; /* but for the folder */
    struct tree_group groups[EMULATE_GROUPS_MAX];
    struct strv group_names;
    long ranks; /* per host; 0: not said */
    cJSON *hyperparameters;
    char *source; /* folder or file */
    struct strv env;
    enum rack_mode mode;
};

/* Everything but ready bases and what needs the names of the hosts. BLAME_USER: a wrong value on
 * the command line; BLAME_CONFIG: a job that the SDK would not send. */
int emulate_job_read(const struct emulate_options *o, struct emulate_job *job, struct err *err);
void emulate_job_done(struct emulate_job *job);
/* Devices per host: one number for all, or one for each. */
int emulate_gpus(const char *text, size_t n, unsigned *gpus, struct err *err);
#endif
