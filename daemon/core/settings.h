/* SPDX-License-Identifier: Apache-2.0
 *
 * settings - our own options: one table of name, type, bounds, default and sentence.
 *
 * Pure: text in, values out. Where the text comes from (file, environment, hyperparameters, --set)
 * is input/settings' business; later sources win. Owner of strings: settings_done(). */
#ifndef CORE_SETTINGS_H
#define CORE_SETTINGS_H
#include "base/strv.h"

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct err;

struct settings {
    char *launcher;        /* "" chooses by the job; else plain, torch, mpi, ... */
    char *torch_launcher;  /* "native" or "exec" */
    long master_port;      /* torch.port, 1 to 65535 */
    char *python;          /* "" looks on PATH */
    bool oversubscribe;    /* rank.oversubscribe: more ranks than GPUs */
    long install_limit_s;  /* step.install_limit_s */
    long early_exit_s;     /* rank.early_exit_s: 0 is off */
    bool early_exit_fails; /* rank.early_exit_fails */
    double stop_grace_s;
    double stop_failure_grace_s;
    double stop_drain_s;       /* after the ranks are gone, for output that nobody reads */
    char *log_level;           /* "" follows the job's sagemaker_container_log_level */
    char *log_format;          /* "text" or "json" */
    char *log_prefix;          /* template, "off", or "auto" */
    char *log_ranks;           /* "all", or "0,2-5" */
    long log_line_max;         /* bytes of a line on the console */
    long log_file_max;         /* bytes of a stream's file; 0 writes no files */
    double log_progress_per_s; /* updates of a progress bar a second and stream */
    char *cgroup_root;
    char *peer_key_file; /* "": none */
    char *peer_key;      /* "any" or "required" */
    long peer_port;      /* 1 to 65535 */
    double peer_meet_limit_s;
    double peer_heartbeat_s;
    double peer_silence_s;
};

/* All at their defaults. */
void settings_init(struct settings *s);
void settings_done(struct settings *s);
/* Sets one by its name ("stop.grace_s"). Errors (BLAME_CONFIG) name it, the bounds and what was
 * found, or for an unknown name the nearest known one; the setting stays as it was. */
int settings_set(struct settings *s, const char *name, const char *value, struct err *err);
/* The names in table order, NULL-ended, for completion, pages and tests. */
const char *const *settings_names(void);
/* One row for documents: type ("seconds"), bounds, default and sentence. False past the end. */
struct setting_row {
    const char *name;
    const char *type;
    const char *bounds;
    const char *standard;
    const char *sentence;
};
bool settings_row(size_t index, struct setting_row *out);
/* The present value as text, to free(). NULL: unknown name. */
char *settings_get(const struct settings *s, const char *name);
#endif
