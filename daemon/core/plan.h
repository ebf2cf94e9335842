/* SPDX-License-Identifier: Apache-2.0
 *
 * plan - all that will run on this host, as data: steps, ranks, environment.
 *
 * Made by launchers/launcher from a job; const from then on. plan_json() is the format of
 * `serry plan --json` (serry-plan(5)). Owner: plan_free(). */
#ifndef CORE_PLAN_H
#define CORE_PLAN_H
#include "base/json.h"
#include "base/strv.h"
#include "core/findings.h"

#include <stdbool.h>
#include <stddef.h>

struct redact;

enum plan_role { ROLE_ALONE, ROLE_LEADER, ROLE_PEER, ROLE_OUTSIDE };

struct plan_host {
    char *name;
    unsigned first_rank;
    unsigned ranks;
};

struct plan_step {
    char *name; /* "install" */
    struct strv argv;
    char *cwd;
    unsigned deadline_s;
    enum err_blame blame; /* whose fault a failure of it is */
};

struct plan_rank {
    unsigned rank;
    unsigned local_rank;
    struct strv argv;
    char *cwd;
    struct strv env; /* NAME=VALUE beyond `environment`; wins over the container's own */
};

/* The text of a variable that no environment can carry (field case 04): written before the ranks
 * start; NAME_FILE in the environment names it. */
struct plan_file {
    char *path;
    char *text;
};

struct plan {
    char *host;
    char *leader;
    enum plan_role role;
    const char *launcher; /* "plain", "torch", ...: a static name */
    unsigned world;
    struct plan_host *hosts;
    size_t n_hosts;
    struct plan_step *steps;
    size_t n_steps;
    struct plan_rank *ranks;
    size_t n_ranks;
    bool has_launch;         /* mpirun or an exec'd torchrun: one process that starts the ranks */
    struct plan_rank launch; /* its rank numbers mean nothing */
    struct strv environment; /* contract order; beyond what the container had */
    struct strv env_refused; /* name, value, name, value: with a '=' in the name, which nothing
                                can set; a fatal finding says so, plan_json() shows them */
    struct strv aliases;
    struct strv user_args;
    char *executable;       /* file that must be executable before the ranks start (W20), or NULL */
    struct strv filled;     /* names of tuning variables that the launcher filled in */
    struct strv left_alone; /* those it left because they were set already */
    struct plan_file *files;
    size_t n_files;
    struct strv not_yet; /* sentences: why this version can plan the job but not run it */
};

struct plan *plan_new(void);
void plan_free(struct plan *plan);
struct plan_step *plan_add_step(struct plan *plan, const char *name, const char *cwd,
                                unsigned deadline_s, enum err_blame blame);
struct plan_rank *plan_add_rank(struct plan *plan, unsigned rank, unsigned local_rank,
                                const char *cwd);
void plan_add_host(struct plan *plan, const char *name, unsigned ranks);
void plan_add_file(struct plan *plan, const char *path, const char *text);
void plan_files_done(struct plan *plan); /* for plan_free() */
const char *plan_role_name(enum plan_role role);

/* What a rank really gets: the container's environment, then environment, aliases, its own. */
void plan_rank_environment(const struct plan *plan, const struct plan_rank *rank,
                           const struct strv *container, struct strv *out);

/* `redact` masks secrets; NULL shows them. Warnings come from `findings` and
 * plan->not_yet; the first fatal finding adds the member "error". */
cJSON *plan_json(const struct plan *plan, const struct findings *findings,
                 const struct redact *redact);
#endif
