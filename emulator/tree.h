/* SPDX-License-Identifier: Apache-2.0
 *
 * tree - the /opt/ml of every emulated host, as the platform would have filled it.
 *
 * Made below the emulation's folder, DIR/HOST/...; or ready ones of the caller's, in which nothing
 * is changed. */
#ifndef EMULATOR_TREE_H
#define EMULATOR_TREE_H
#include <cjson/cJSON.h>
#include <stddef.h>

#include "base/strv.h"

struct err;

/* The hosts, in the order of the job's list, and the folder that is /opt/ml on each. */
struct tree_hosts {
    struct strv names;
    struct strv bases;
};

struct tree_group {
    const char *name;
    const char *type; /* ml.p4d.24xlarge */
    size_t hosts;
};

struct tree_spec {
    const char *folder; /* in which the hosts' are made; absolute */
    const struct tree_group *groups;
    size_t n_groups;
    const char *source;           /* folder or file that goes to /opt/ml/code; NULL: none */
    const struct strv *channels;  /* NAME=FOLDER */
    const cJSON *hyperparameters; /* of sdk_encode() */
};

/* The names algo-1 to algo-N, sorted as the platform does it (algo-10 before algo-2), with bases
 * below spec->folder. Makes nothing. */
void tree_plan(const struct tree_spec *spec, struct tree_hosts *hosts);
/* Makes the folders, with a copy of the source and of the channels for each host. */
int tree_make(const struct tree_spec *spec, const struct tree_hosts *hosts, struct err *err);
/* Writes the configuration files; `interface` is the hosts' network interface. */
int tree_configure(const struct tree_spec *spec, const struct tree_hosts *hosts,
                   const char *interface, struct err *err);
/* Finds ready bases DIR/HOST. BLAME_CONFIG: there is none. */
int tree_find(const char *dir, struct tree_hosts *hosts, struct err *err);
void tree_hosts_done(struct tree_hosts *hosts);
#endif
