/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/job.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/files.h"
#include "base/mem.h"
#include "base/num.h"
#include "core/channels.h"
#include "core/hyper.h"
#include "core/resources.h"

static const struct {
    const char *prefix; /* of SAGEMAKER_TRAINING_MODULE */
    enum layer layer;
} layers[] = {
    {"sagemaker_pytorch_container",    LAYER_PYTORCH   },
    {"sagemaker_tensorflow_container", LAYER_TENSORFLOW},
};

static enum layer find_layer(const char *module)
{
    if (!module || !module[0])
        return LAYER_OWN;
    for (size_t i = 0; i < LENGTH(layers); i++)
        if (strncmp(module, layers[i].prefix, strlen(layers[i].prefix)) == 0)
            return layers[i].layer;
    return LAYER_BASE;
}

static void check_container(const struct job *job, struct findings *findings)
{
    static const char name[] = "SAGEMAKER_CONTAINER_LOG_LEVEL";
    const char *level = strv_env(&job->container, name);
    long number;

    if (level && !num_integer(level, INT_MIN, INT_MAX, &number))
        findings_fatal(findings, BLAME_CONFIG,
                       "environment: %s: expected a whole number such as 20, found \"%.60s\"", name,
                       level);
}

/* Without slashes at the end; to free(). */
static char *folder_name(const char *path)
{
    size_t n = strlen(path);

    while (n > 1 && path[n - 1] == '/')
        n--;
    return mem_dup_n(path, n);
}

struct job *job_new(const struct tree *tree, const struct strv *container, struct facts *facts,
                    const char *as_host, struct findings *findings)
{
    struct job *job = mem_zero(sizeof(*job));

    job->base = mem_dup(tree->base);
    job->facts = *facts;
    *facts = (struct facts){0};
    strv_add_all(&job->container, container);
    job->framework_module = mem_dup(strv_env(container, "SAGEMAKER_TRAINING_MODULE"));
    job->training_job = mem_dup(strv_env(container, "TRAINING_JOB_NAME"));
    job->layer = find_layer(job->framework_module);
    check_container(job, findings);
    hyper_read(job, tree->hyperparameters, findings);
    resources_read(job, tree->resourceconfig, as_host, findings);
    channels_read(job, tree->inputdataconfig);
    job->code_dir = job->in_place ? folder_name(job->submit_dir) : job_path(job, "code");
    return job;
}

void job_free(struct job *job)
{
    if (!job)
        return;
    char *texts[] = {job->base,       job->framework_module, job->training_job, job->program,
                     job->submit_dir, job->job_name,         job->region,       job->model_dir_tf,
                     job->host,       job->instance_type,    job->group,        job->interface,
                     job->leader,     job->code_dir,         job->entry_module};
    cJSON *trees[] = {job->hyperparameters, job->framework, job->log_level, job->resource_config,
                      job->groups,          job->topology,  job->channels};
    struct strv *lists[] = {&job->container,   &job->hosts,       &job->group_names,
                            &job->group_hosts, &job->dist_groups, &job->dist_hosts,
                            &job->code_files};

    for (size_t i = 0; i < LENGTH(texts); i++)
        free(texts[i]);
    for (size_t i = 0; i < LENGTH(trees); i++)
        cJSON_Delete(trees[i]);
    for (size_t i = 0; i < LENGTH(lists); i++)
        strv_done(lists[i]);
    facts_done(&job->facts);
    free(job);
}

char *job_path(const struct job *job, const char *below)
{
    return path_join(job->base, below);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void job_sorted_hosts(const struct job *job, struct strv *out)
{
    strv_add_all(out, &job->hosts);
    if (out->n)
        qsort(out->v, out->n, sizeof(*out->v), by_text);
}

const char *job_meeting_host(const struct job *job)
{
    const cJSON *named = json_get(job->framework, "sagemaker_distribution_instance_groups");

    if (job->group_names.n <= 1 || (named && !cJSON_IsNull(named)) || !job->hosts.n)
        return job->leader;
    return job->hosts.v[0];
}

bool job_is_hetero(const struct job *job)
{
    return job->group_names.n > 1;
}

void tree_done(struct tree *tree)
{
    free(tree->base);
    cJSON_Delete(tree->hyperparameters);
    cJSON_Delete(tree->resourceconfig);
    cJSON_Delete(tree->inputdataconfig);
    *tree = (struct tree){0};
}
