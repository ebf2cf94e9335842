/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/fit.h"

#include "base/cleanup.h"
#include "base/files.h"
#include "base/mem.h"
#include "core/findings.h"
#include "core/job.h"
#include "core/plan.h"

#include <ctype.h>
#include <string.h>

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

static void move_to_file(const struct job *job, struct plan *plan, const char *name,
                         const char *value, struct findings *findings)
{
    auto_free char *path = file_path(job, name);
    auto_free char *pointer = mem_printf("%s_FILE", name);

    plan_add_file(plan, path, value);
    strv_env_set(&plan->environment, pointer, path);
    findings_warn(findings,
                  "%.200s is not set: its %zu bytes are more than a program can be started with; "
                  "they are in %s, which %.200s names",
                  name, strlen(value), path, pointer);
}

void fit_set(const struct job *job, struct plan *plan, const char *name, const char *value,
             struct findings *findings)
{
    if (strlen(name) + 1 + strlen(value) > FIT_STRING_MAX)
        move_to_file(job, plan, name, value, findings);
    else
        strv_env_set(&plan->environment, name, value);
}

static size_t size_of(const struct strv *list)
{
    size_t sum = 0;

    for (size_t i = 0; i < list->n; i++)
        sum += strlen(list->v[i]) + 1 + sizeof(char *);
    return sum;
}

static size_t total(const struct job *job, const struct plan *plan)
{
    return size_of(&job->container) + size_of(&plan->environment) + size_of(&plan->aliases) +
           size_of(&plan->user_args);
}

/* Moves the longest aggregate out of the environment; false if none is left. */
static bool shrink(const struct job *job, struct plan *plan, struct findings *findings)
{
    auto_free char *value = NULL;
    const char *longest = NULL;
    size_t most = 0;

    for (size_t i = 0; i < LENGTH(aggregates); i++) {
        const char *text = strv_env(&plan->environment, aggregates[i]);

        if (text && strlen(text) > most) {
            longest = aggregates[i];
            most = strlen(text);
        }
    }
    if (!longest)
        return false;
    value = mem_dup(strv_env(&plan->environment, longest));
    strv_env_unset(&plan->environment, longest);
    move_to_file(job, plan, longest, value, findings);
    return true;
}

void fit_check(const struct job *job, struct plan *plan, struct findings *findings)
{
    for (size_t i = 0; i + 1 < plan->user_args.n; i += 2) {
        size_t longest = strlen(plan->user_args.v[i]);

        if (strlen(plan->user_args.v[i + 1]) > longest)
            longest = strlen(plan->user_args.v[i + 1]);
        if (longest > FIT_STRING_MAX)
            findings_fatal(findings, BLAME_CONFIG,
                           "hyperparameters.json: the argument %.200s has %zu bytes; a program can "
                           "be started with at most %d in one",
                           plan->user_args.v[i], longest, FIT_STRING_MAX);
    }
    while (total(job, plan) > FIT_TOTAL_MAX)
        if (!shrink(job, plan, findings)) {
            findings_fatal(
                findings, BLAME_CONFIG,
                "hyperparameters.json: arguments and variables take %zu bytes; a program "
                "can be started with at most %zu",
                total(job, plan), FIT_TOTAL_MAX);
            return;
        }
}
