/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/plan.h"

#include <stdlib.h>

#include "base/mem.h"

static const char *const role_names[] = {
    [ROLE_ALONE] = "alone",
    [ROLE_LEADER] = "leader",
    [ROLE_PEER] = "peer",
    [ROLE_OUTSIDE] = "outside",
};

struct plan *plan_new(void)
{
    return mem_zero(sizeof(struct plan));
}

static void rank_done(struct plan_rank *rank)
{
    strv_done(&rank->argv);
    strv_done(&rank->env);
    free(rank->cwd);
}

void plan_free(struct plan *plan)
{
    if (!plan)
        return;
    for (size_t i = 0; i < plan->n_hosts; i++)
        free(plan->hosts[i].name);
    for (size_t i = 0; i < plan->n_steps; i++) {
        free(plan->steps[i].name);
        free(plan->steps[i].cwd);
        strv_done(&plan->steps[i].argv);
    }
    for (size_t i = 0; i < plan->n_ranks; i++)
        rank_done(&plan->ranks[i]);
    rank_done(&plan->launch);
    free(plan->hosts);
    free(plan->steps);
    free(plan->ranks);
    free(plan->host);
    free(plan->leader);
    free(plan->executable);
    strv_done(&plan->environment);
    strv_done(&plan->env_refused);
    strv_done(&plan->aliases);
    strv_done(&plan->user_args);
    strv_done(&plan->filled);
    strv_done(&plan->left_alone);
    strv_done(&plan->not_yet);
    plan_files_done(plan);
    free(plan);
}

struct plan_step *plan_add_step(struct plan *plan, const char *name, const char *cwd,
                                unsigned deadline_s, enum err_blame blame)
{
    struct plan_step *step;

    plan->steps = mem_grow(plan->steps, plan->n_steps + 1, sizeof(*plan->steps));
    step = &plan->steps[plan->n_steps++];
    *step = (struct plan_step){
        .name = mem_dup(name), .cwd = mem_dup(cwd), .deadline_s = deadline_s, .blame = blame};
    return step;
}

struct plan_rank *plan_add_rank(struct plan *plan, unsigned rank, unsigned local_rank,
                                const char *cwd)
{
    struct plan_rank *added;

    plan->ranks = mem_grow(plan->ranks, plan->n_ranks + 1, sizeof(*plan->ranks));
    added = &plan->ranks[plan->n_ranks++];
    *added = (struct plan_rank){.rank = rank, .local_rank = local_rank, .cwd = mem_dup(cwd)};
    return added;
}

void plan_add_host(struct plan *plan, const char *name, unsigned ranks)
{
    plan->hosts = mem_grow(plan->hosts, plan->n_hosts + 1, sizeof(*plan->hosts));
    plan->hosts[plan->n_hosts++] =
        (struct plan_host){.name = mem_dup(name), .first_rank = plan->world, .ranks = ranks};
    plan->world += ranks;
}

const char *plan_role_name(enum plan_role role)
{
    return role_names[role];
}

void plan_rank_environment(const struct plan *plan, const struct plan_rank *rank,
                           const struct strv *container, struct strv *out)
{
    strv_add_all(out, container);
    strv_env_merge(out, &plan->environment);
    strv_env_merge(out, &plan->aliases);
    strv_env_merge(out, &rank->env);
}
