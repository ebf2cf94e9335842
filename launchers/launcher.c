/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "launchers/launcher.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/files.h"
#include "base/mem.h"
#include "core/env.h"

bool launcher_outside(const struct job *job)
{
    return job->dist_groups.n && !job->takes_part;
}

/* What can be planned, and needs parts that this version has not. */
static void check_version(const struct job *job, struct plan *plan)
{
    if (job->code_fetch)
        strv_addf(&plan->not_yet,
                  "%s: fetching code from there into %s is not part of this version",
                  job->submit_dir, job->code_dir);
}

static void check_python(const struct job *job, const struct settings *settings,
                         struct findings *findings)
{
    const char *path = strv_env(&job->container, "PATH");

    if (job->entry == ENTRY_NONE || job->entry == ENTRY_COMMAND || job->facts.python)
        return;
    if (*settings->python)
        findings_fatal(findings, BLAME_CONFIG,
                       "setting python: expected a program to run %s, found \"%s\", %s",
                       job->program, settings->python,
                       job->facts.python_fault ? job->facts.python_fault : "which is none");
    else
        findings_fatal(findings, BLAME_PLATFORM,
                       "PATH: expected python3 or python to run %s, found none in \"%s\"",
                       job->program, path ? path : "");
}

static void add_hosts(const struct job *job, struct plan *plan, unsigned each)
{
    const struct strv *hosts = job->takes_part ? &job->dist_hosts : &job->hosts;

    if (launcher_outside(job)) {
        plan_add_host(plan, job->host, each);
        return;
    }
    for (size_t i = 0; i < hosts->n; i++)
        plan_add_host(plan, hosts->v[i], job->facts.host_ranks ? job->facts.host_ranks[i] : each);
}

/* A rank in log.ranks that the job has not would show nothing, without a word. */
static void check_log_ranks(const struct settings *settings, const struct plan *plan,
                            struct findings *findings)
{
    for (const char *at = settings->log_ranks; plan->world && *at;
         at += strcspn(at, ","), at += *at == ',') {
        unsigned long first = strtoul(at, NULL, 10); /* "all" is 0 */

        if (first < plan->world)
            continue;
        findings_warn(findings,
                      "setting log.ranks = %s: there is no rank %lu, the job has %u rank%s",
                      settings->log_ranks, first, plan->world, plan->world == 1 ? "" : "s");
        return;
    }
}

static void check_self(const struct plan *plan, struct findings *findings)
{
    if (!launcher_self(plan) && !findings_first_fatal(findings))
        findings_fatal(
            findings, BLAME_CONFIG,
            "resourceconfig.json: expected current_host %s among the hosts of the job or "
            "of its instance group",
            plan->host);
}

static enum plan_role role_of(const struct job *job, const struct plan *plan)
{
    if (launcher_outside(job))
        return ROLE_OUTSIDE;
    if (plan->n_hosts == 1)
        return ROLE_ALONE;
    return launcher_self(plan) == plan->hosts ? ROLE_LEADER : ROLE_PEER;
}

static void add_executable(const struct job *job, struct plan *plan)
{
    if (job->entry == ENTRY_COMMAND && job->program[0] != '/')
        plan->executable = path_join(job->code_dir, job->program);
}

struct plan *launcher_plan(const struct job *job, const struct settings *settings,
                           struct findings *findings)
{
    const struct launcher_ops *ops = launcher_choose(job, settings, findings);
    struct plan *plan = plan_new();

    plan->host = mem_dup(job->host);
    plan->leader = mem_dup(job->leader);
    plan->launcher = ops->name;
    env_build(job, plan, findings);
    check_version(job, plan);
    check_python(job, settings, findings);
    entrycmd_install(job, settings, plan);
    add_hosts(job, plan, ops->per_host(job, settings, findings));
    check_self(plan, findings);
    check_log_ranks(settings, plan, findings);
    plan->role = role_of(job, plan);
    if (job->entry == ENTRY_NONE)
        return plan;
    add_executable(job, plan);
    if (ops->plan)
        ops->plan(job, settings, plan, findings);
    return plan;
}
