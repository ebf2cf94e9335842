/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <string.h>

#include "base/cleanup.h"
#include "launchers/launcher.h"

unsigned launcher_one(const struct job *job, const struct settings *settings,
                      struct findings *findings)
{
    (void)job;
    (void)settings;
    (void)findings;
    return 1;
}

static void check_against_gpus(const struct job *job, const struct settings *settings,
                               struct findings *findings)
{
    unsigned gpus = job->facts.num_gpus;

    if (!gpus || job->per_host == gpus)
        return;
    if (job->per_host < gpus)
        findings_warn(findings, "%s: %u of %u GPUs stay idle with %u processes", job->host,
                      gpus - job->per_host, gpus, job->per_host);
    else if (!settings->oversubscribe)
        findings_fatal(findings, BLAME_CONFIG,
                       "sagemaker_mpi_num_of_processes_per_host: %u processes asked for, %s has %u "
                       "GPUs; rank.oversubscribe = true allows it",
                       job->per_host, job->host, gpus);
}

unsigned launcher_per_host(const struct job *job, const struct settings *settings,
                           struct findings *findings)
{
    const struct facts *facts = &job->facts;
    unsigned found = facts->num_gpus ? facts->num_gpus : facts->num_neurons;
    unsigned count = job->per_host ? job->per_host : found ? found : 1;

    if (count > LAUNCHER_PER_HOST_MAX) {
        findings_fatal(findings, BLAME_CONFIG, "%s: %u processes on one host, at most %d can be",
                       job->host, count, LAUNCHER_PER_HOST_MAX);
        return LAUNCHER_PER_HOST_MAX;
    }
    if (job->per_host)
        check_against_gpus(job, settings, findings);
    return count;
}

unsigned launcher_port(const struct job *job, const struct settings *settings)
{
    return job->facts.master_port ? job->facts.master_port : (unsigned)settings->master_port;
}

const struct plan_host *launcher_self(const struct plan *plan)
{
    for (size_t i = 0; i < plan->n_hosts; i++)
        if (strcmp(plan->hosts[i].name, plan->host) == 0)
            return &plan->hosts[i];
    return NULL;
}

/* A job of one host needs no name to resolve. */
static const char *master_address(const struct job *job, const struct plan *plan)
{
    return plan->n_hosts == 1 && !job->facts.own_name_resolves ? "127.0.0.1" : plan->leader;
}

static const char *run_id(const struct job *job)
{
    if (job->job_name && *job->job_name)
        return job->job_name;
    return job->training_job ? job->training_job : "none";
}

void launcher_rank_env(const struct job *job, const struct settings *settings,
                       const struct plan *plan, struct plan_rank *rank)
{
    const struct plan_host *self = launcher_self(plan);
    const unsigned port = launcher_port(job, settings);
    const struct {
        const char *name;
        size_t value;
        bool torch_only; /* other programs would take themselves for torchrun's */
    } numbers[] = {
        {"RANK",                       rank->rank,                   false},
        {"LOCAL_RANK",                 rank->local_rank,             false},
        {"WORLD_SIZE",                 plan->world,                  false},
        {"LOCAL_WORLD_SIZE",           self->ranks,                  false},
        {"GROUP_RANK",                 (size_t)(self - plan->hosts), false},
        {"GROUP_WORLD_SIZE",           plan->n_hosts,                false},
        {"MASTER_PORT",                port,                         false},
        {"ROLE_RANK",                  rank->rank,                   true },
        {"ROLE_WORLD_SIZE",            plan->world,                  true },
        {"TORCHELASTIC_RESTART_COUNT", 0,                            true },
        {"TORCHELASTIC_MAX_RESTARTS",  0,                            true },
    };
    bool torch = strcmp(plan->launcher, launcher_torch.name) == 0;

    for (size_t i = 0; i < LENGTH(numbers); i++)
        if (torch || !numbers[i].torch_only)
            strv_addf(&rank->env, "%s=%zu", numbers[i].name, numbers[i].value);
    strv_addf(&rank->env, "MASTER_ADDR=%s", master_address(job, plan));
    if (!torch)
        return;
    strv_add(&rank->env, "ROLE_NAME=default");
    strv_addf(&rank->env, "TORCHELASTIC_RUN_ID=%s", run_id(job));
    strv_add(&rank->env, "TORCHELASTIC_USE_AGENT_STORE=False");
}

void launcher_add_ranks(const struct job *job, const struct settings *settings, struct plan *plan)
{
    const struct plan_host *self = launcher_self(plan);

    for (unsigned i = 0; self && i < self->ranks; i++) {
        struct plan_rank *rank = plan_add_rank(plan, self->first_rank + i, i, job->code_dir);

        entrycmd(job, plan, &rank->argv);
        /* With a rank of its own such a host would join the others' job by MASTER_ADDR. */
        if (plan->role != ROLE_OUTSIDE)
            launcher_rank_env(job, settings, plan, rank);
    }
}
