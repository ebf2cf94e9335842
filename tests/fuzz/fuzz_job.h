/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_job - from the texts of the configuration files all the way to environment and arguments. */
#ifndef FUZZ_FUZZ_JOB_H
#define FUZZ_FUZZ_JOB_H
#include "fuzz.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "core/env.h"
#include "core/fit.h"
#include "core/job.h"
#include "core/plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int fuzz_list(const char *dir, struct strv *names)
{
    if (strcmp(dir, "/opt/ml/code") != 0)
        return -ENOENT;
    strv_add(names, "setup.py");
    strv_add(names, "train.py");
    return 0;
}

/* What a program would be started with must be something that a program can be started with. */
static void fuzz_check(const struct plan *plan, bool fatal)
{
    MUST(plan->user_args.n % 2 == 0 && plan->env_refused.n % 2 == 0);
    for (size_t i = 0; i < plan->environment.n; i++) {
        MUST(strchr(plan->environment.v[i], '=') != NULL);
        MUST(fatal || strlen(plan->environment.v[i]) <= FIT_STRING_MAX);
    }
    for (size_t i = 0; i < plan->user_args.n; i++)
        MUST(fatal || strlen(plan->user_args.v[i]) <= FIT_STRING_MAX);
    for (size_t i = 0; i < plan->aliases.n; i++) {
        size_t name = strcspn(plan->aliases.v[i], "=");

        MUST(strspn(plan->aliases.v[i], "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                        "0123456789_") == name);
    }
}

static void fuzz_job(cJSON *hyperparameters, cJSON *resourceconfig, const char *as_host)
{
    struct tree tree = {.base = mem_dup("/opt/ml"),
                        .hyperparameters = hyperparameters,
                        .resourceconfig = resourceconfig};
    struct facts facts = {.num_cpus = 4};
    struct findings findings = {0};
    struct strv container = {0};
    struct plan *plan = plan_new();
    struct job *job;

    strv_add(&container, "SAGEMAKER_TRAINING_MODULE=sagemaker_tensorflow_container.training:main");
    strv_add(&facts.interfaces, "lo");
    job = job_new(&tree, &container, &facts, as_host, &findings);
    job_find_entry(job, fuzz_list, &findings);
    env_build(job, plan, &findings);
    fuzz_check(plan, findings_first_fatal(&findings) != NULL);
    plan_free(plan);
    job_free(job);
    tree_done(&tree);
    findings_done(&findings);
    strv_done(&container);
}

/* The object in these bytes, NULL if there is none. */
static cJSON *fuzz_object(const uint8_t *data, size_t n)
{
    struct err err = ERR_INIT;
    cJSON *tree = json_parse_file_text((const char *)data, n, &err);

    if (!tree)
        MUST(err.code < 0 && err.text[0] &&
             utf8_check(err.text, strlen(err.text)) == strlen(err.text));
    if (tree && cJSON_IsObject(tree))
        return tree;
    cJSON_Delete(tree);
    return NULL;
}
#endif
