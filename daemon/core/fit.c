/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/fit.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/files.h"
#include "base/mem.h"
#include "core/env.h"
#include "core/findings.h"
#include "core/job.h"
#include "core/plan.h"

#define HYPER         "SM_HP_" /* what the variable of a hyperparameter begins with */
#define AGGREGATE_MIN 1024     /* bytes that are worth the trouble */
#define FILE_NAME_MAX 240      /* bytes of a name that is to be a file's as well */

/* Those that repeat what stands elsewhere; a program can do without them. */
static const char *const aggregates[] = {
    "SM_TRAINING_ENV",
    "SM_HPS",
    "SM_USER_ARGS",
    "SM_RESOURCE_CONFIG",
    "SM_INPUT_DATA_CONFIG",
    "SM_FRAMEWORK_PARAMS",
    "SM_INSTANCE_GROUPS",
    "SM_INSTANCE_GROUPS_DICT",
    "SM_HOSTS",
    "SM_CURRENT_INSTANCE_GROUP_HOSTS",
    "SM_CHANNELS",
    "SM_TOPOLOGY",
};

/* <base>/output/data/serried/HOST/env/NAME.json, to free(). */
static char *file_path(const struct job *job, const char *name)
{
    auto_free char *below = mem_printf("output/data/serried/%s/env/%s.json", job->host, name);
    char *path = job_path(job, below);

    for (char *p = path + strlen(path) - strlen(name) - strlen(".json"); *p; p++)
        if (!isalnum((unsigned char)*p) && !strchr("._-", *p))
            *p = '_';
    return path;
}

/* What the kernel counts: the text, its NUL and the pointer to it. */
static size_t size_of(const char *entry)
{
    return strlen(entry) + 1 + sizeof(char *);
}

static size_t size_of_all(const struct strv *list)
{
    size_t sum = 0;

    for (size_t i = 0; i < list->n; i++)
        sum += size_of(list->v[i]);
    return sum;
}

/* The same of a variable, which comes again under a second name if its own is not legal. */
static size_t size_of_variable(const char *entry)
{
    return size_of(entry) * (env_is_legal(entry) ? 1 : 2);
}

static size_t total(const struct job *job, const struct plan *plan)
{
    size_t sum = size_of_all(&job->container) + size_of_all(&plan->user_args);

    for (size_t i = 0; i < plan->environment.n; i++)
        sum += size_of_variable(plan->environment.v[i]);
    return sum;
}

/* The order in which variables become files. */
enum rank {
    TOO_LONG,  /* by itself: it must go */
    AGGREGATE, /* the longest first, as the next */
    PARAMETER,
    STAYS
};

struct candidate {
    enum rank rank;
    size_t at; /* in the environment */
    size_t size;
    size_t saved; /* by a file */
    char *name;
    char *path;
};

static bool is_aggregate(const char *name)
{
    for (size_t i = 0; i < LENGTH(aggregates); i++)
        if (strcmp(name, aggregates[i]) == 0)
            return true;
    return false;
}

/* A parameter's name must be that of its file as well, and that of the pointer must be free. */
static enum rank rank_of(const struct candidate *c, struct strv_index *environment)
{
    auto_free char *pointer = mem_printf("%s_FILE", c->name);

    if (strlen(environment->env->v[c->at]) > FIT_STRING_MAX)
        return TOO_LONG;
    if (is_aggregate(c->name))
        return c->saved >= AGGREGATE_MIN ? AGGREGATE : STAYS;
    return c->saved && strncmp(c->name, HYPER, strlen(HYPER)) == 0 &&
                   strlen(c->name) <= FILE_NAME_MAX && strstr(c->path, c->name) &&
                   strv_index_find(environment, pointer, strlen(pointer)) < 0
               ? PARAMETER
               : STAYS;
}

static void candidate_init(struct candidate *c, const struct job *job, const char *entry, size_t at)
{
    auto_free char *pointer = NULL;
    size_t after;

    c->at = at;
    c->name = mem_dup_n(entry, strcspn(entry, "="));
    c->path = file_path(job, c->name);
    pointer = mem_printf("%s_FILE=%s", c->name, c->path);
    after = size_of_variable(pointer);
    c->size = size_of_variable(entry);
    c->saved = c->size > after ? c->size - after : 0;
}

static void candidates_done(struct candidate *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(list[i].name);
        free(list[i].path);
    }
    free(list);
}

static int by_order(const void *one, const void *other)
{
    const struct candidate *a = one, *b = other;

    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    if (a->rank != TOO_LONG && a->size != b->size)
        return a->size > b->size ? -1 : 1;
    return a->at < b->at ? -1 : 1;
}

/* All variables; the first *n are those that may move, in the order in which they go. */
static struct candidate *find_candidates(const struct job *job, struct plan *plan, size_t *n)
{
    auto_strv_index struct strv_index index = {.env = &plan->environment};
    struct candidate *list = mem_zero(plan->environment.n * sizeof(*list));

    *n = 0;
    for (size_t i = 0; i < plan->environment.n; i++) {
        struct candidate *c = &list[*n];

        candidate_init(c, job, plan->environment.v[i], i);
        c->rank = rank_of(c, &index);
        if (c->rank != STAYS) {
            ++*n;
            continue;
        }
        free(c->name);
        free(c->path);
        *c = (struct candidate){0};
    }
    qsort(list, *n, sizeof(*list), by_order);
    return list;
}

/* The pointer takes the variable's place. */
static void move(struct plan *plan, const struct candidate *c, struct findings *findings)
{
    char **entry = &plan->environment.v[c->at];
    const char *value = *entry + strlen(c->name) + 1;

    plan_add_file(plan, c->path, value);
    if (c->rank != PARAMETER)
        findings_warn(findings,
                      "%.200s is not set: its %zu bytes are more than a program can be started "
                      "with%s; they are in %s, which %.200s_FILE names",
                      c->name, strlen(value), c->rank == AGGREGATE ? ", with all others" : "",
                      c->path, c->name);
    free(*entry);
    *entry = mem_printf("%s_FILE=%s", c->name, c->path);
}

static void warn_parameters(const struct candidate *moved, size_t n, struct findings *findings)
{
    size_t first = 0;

    while (first < n && moved[first].rank != PARAMETER)
        first++;
    if (first < n)
        findings_warn(findings,
                      "%zu variables %s* are not set: all variables together are more than a "
                      "program can be started with; each is in a file, which %s*_FILE names",
                      n - first, HYPER, HYPER);
}

/* Moves what must go and what it takes to get down to `room`; nothing if that cannot be. */
static void shrink(const struct job *job, struct plan *plan, size_t room, struct findings *findings)
{
    size_t sum = total(job, plan);
    size_t n, moved = 0;
    struct candidate *list = find_candidates(job, plan, &n);

    for (; moved < n && (sum > room || list[moved].rank == TOO_LONG); moved++)
        sum -= list[moved].saved;
    if (sum > room) {
        findings_fatal(findings, BLAME_CONFIG,
                       "hyperparameters.json: arguments and variables take %zu bytes; a program "
                       "can be started with at most %zu",
                       sum, room);
        moved = 0;
    }
    for (size_t i = 0; i < moved; i++)
        move(plan, &list[i], findings);
    warn_parameters(list, moved, findings);
    candidates_done(list, n);
}

static bool arguments_fit(const struct plan *plan, struct findings *findings)
{
    bool fit = true;

    for (size_t i = 0; i + 1 < plan->user_args.n; i += 2) {
        size_t longest = strlen(plan->user_args.v[i]);

        if (strlen(plan->user_args.v[i + 1]) > longest)
            longest = strlen(plan->user_args.v[i + 1]);
        if (longest <= FIT_STRING_MAX)
            continue;
        fit = false;
        findings_fatal(findings, BLAME_CONFIG,
                       "hyperparameters.json: the argument %.200s has %zu bytes; a program can "
                       "be started with at most %d in one",
                       plan->user_args.v[i], longest, FIT_STRING_MAX);
    }
    return fit;
}

void fit_check(const struct job *job, struct plan *plan, struct findings *findings)
{
    if (arguments_fit(plan, findings))
        shrink(job, plan, job->facts.arg_room ? job->facts.arg_room : FIT_TOTAL_STANDARD, findings);
}
