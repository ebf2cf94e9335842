/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "run/crew.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "input/inputs.h"
#include "input/output.h"
#include "run/keeper.h"
#include "run/killtree.h"

static const struct plan_rank *rank_of(const struct crew *c, size_t i)
{
    const struct plan *plan = c->in->plan;

    return plan->has_launch ? &plan->launch : &plan->ranks[i - c->n_steps];
}

static void init_rank(const struct crew *c, size_t i)
{
    const struct plan *plan = c->in->plan;
    const struct plan_rank *rank = rank_of(c, i);
    struct task *t = &c->tasks[i];

    if (plan->has_launch) {
        t->outcome.program = strrchr(rank->argv.v[0], '/');
        t->outcome.program = t->outcome.program ? t->outcome.program + 1 : rank->argv.v[0];
        t->outcome.ranks = plan->world;
    }
    t->outcome.rank = rank->rank;
    t->outcome.local_rank = rank->local_rank;
    t->out_path = output_log_path(c->output, rank->rank, "out");
    t->err_path = output_log_path(c->output, rank->rank, "err");
    t->error_file = mem_dup(strv_env(&rank->env, "TORCHELASTIC_ERROR_FILE"));
}

void crew_init(struct crew *c, const struct inputs *in, const struct output *output,
               const char *mark, struct logmux *mux)
{
    const struct plan *plan = in->plan;

    *c = (struct crew){
        .in = in, .output = output, .mark = mark, .mux = mux, .n_steps = plan->n_steps};
    c->n = c->n_steps + (plan->has_launch ? 1 : plan->n_ranks);
    c->tasks = mem_zero(c->n * sizeof(*c->tasks));
    for (size_t i = 0; i < c->n; i++) {
        c->tasks[i].outcome.host = plan->host;
        if (i < c->n_steps)
            c->tasks[i].outcome.step = plan->steps[i].name;
    }
}

void crew_done(struct crew *c)
{
    for (size_t i = 0; i < c->n; i++)
        task_done(&c->tasks[i]);
    free(c->tasks);
    *c = (struct crew){0};
}

/* ---- start --------------------------------------------------------------------------------- */

/* With what every process of the job has, and without what is the daemon's own. */
static bool start(struct crew *c, struct task *t, const struct strv *argv, struct strv *env,
                  const char *cwd)
{
    struct task_spec spec = {.argv = strv_list(argv), .cwd = cwd};

    strv_env_unset(env, "SERRIED_JOB_KEY");
    strv_env_set(env, KILLTREE_MARK, c->mark);
    spec.env = strv_list(env);
    if (!task_start(t, &spec, c->mux)) {
        log_error("%s", t->outcome.spawn_error);
        return false;
    }
    keeper_add(t->outcome.pid);
    return true;
}

const struct plan_step *crew_next_step(const struct crew *c)
{
    return c->step < c->n_steps ? &c->in->plan->steps[c->step] : NULL;
}

struct task *crew_step(const struct crew *c)
{
    return &c->tasks[c->step - 1];
}

bool crew_start_step(struct crew *c)
{
    const struct plan_step *step = crew_next_step(c);
    auto_strv struct strv env = {0};
    auto_free char *words = strv_join(&step->argv, " ");
    auto_free char *shown = redact_text(c->in->redact, words);

    log_info("step %s: %s", step->name, shown);
    strv_add_all(&env, &c->in->job->container);
    c->step++;
    return start(c, crew_step(c), &step->argv, &env, step->cwd);
}

static bool start_rank(struct crew *c, size_t i)
{
    const struct plan_rank *rank = rank_of(c, i);
    struct task *t = &c->tasks[i];
    auto_strv struct strv env = {0};

    plan_rank_environment(c->in->plan, rank, &c->in->job->container, &env);
    return start(c, t, &rank->argv, &env, rank->cwd);
}

const struct task *crew_start_ranks(struct crew *c)
{
    uint64_t begin = clock_ms();
    size_t n = c->n - c->n_steps;

    for (size_t i = c->n_steps; i < c->n; i++) { /* their numbers are known only now */
        init_rank(c, i);
        if (!start_rank(c, i))
            return &c->tasks[i];
    }
    log_info("%zu %s started in %u ms", n, n == 1 ? "process" : "processes",
             (unsigned)(clock_ms() - begin));
    return NULL;
}

/* ---- questions ----------------------------------------------------------------------------- */

static bool runs(const struct task *t)
{
    return task_is_live(t) && t->state != RANK_DONE;
}

bool crew_runs(const struct crew *c)
{
    for (size_t i = 0; i < c->n; i++)
        if (runs(&c->tasks[i]))
            return true;
    return false;
}

bool crew_is_done(const struct crew *c)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->tasks[i].state != RANK_DONE)
            return false;
    return true;
}

struct task *crew_find(const struct crew *c, pid_t pid)
{
    for (size_t i = 0; i < c->n; i++)
        if (task_is_live(&c->tasks[i]) && c->tasks[i].outcome.pid == pid)
            return &c->tasks[i];
    return NULL;
}

char *crew_list_running(const struct crew *c)
{
    auto_strv struct strv ranks = {0};

    for (size_t i = c->n_steps; i < c->n; i++)
        if (runs(&c->tasks[i]))
            strv_addf(&ranks, "%u", c->tasks[i].outcome.rank);
    return strv_join(&ranks, ", ");
}

char *crew_list_gone(const struct crew *c, uint64_t before_ms)
{
    auto_strv struct strv ranks = {0};

    for (size_t i = c->n_steps; i < c->n; i++)
        if (c->tasks[i].outcome.ended && c->tasks[i].outcome.end_ms <= before_ms)
            strv_addf(&ranks, "%u", c->tasks[i].outcome.rank);
    return strv_join(&ranks, ", ");
}

struct outcome *crew_outcomes(struct crew *c, size_t *n)
{
    struct outcome *all = mem_zero((c->n + 1) * sizeof(*all));

    *n = 0;
    for (size_t i = 0; i < c->n; i++) {
        struct task *t = &c->tasks[i];

        if (!t->outcome.started && !t->outcome.spawn_error)
            continue;
        if (t->outcome.step && outcome_status(&t->outcome) == 0)
            continue;
        task_collect(t);
        all[(*n)++] = t->outcome;
    }
    return all;
}

/* ---- orders -------------------------------------------------------------------------------- */

void crew_tell(struct crew *c, enum rank_event event)
{
    for (size_t i = 0; i < c->n; i++)
        (void)task_event(&c->tasks[i], event);
}

void crew_signal(const struct crew *c, int number)
{
    for (size_t i = c->n_steps; i < c->n; i++)
        if (task_is_live(&c->tasks[i]))
            (void)kill(c->tasks[i].outcome.pid, number);
}

void crew_name_stubborn(const struct crew *c)
{
    for (size_t i = 0; i < c->n; i++) {
        const struct task *t = &c->tasks[i];
        const struct outcome *o = &t->outcome;
        auto_free char *who =
            o->step ? mem_printf("step %s", o->step) : mem_printf("rank %u", o->rank);

        if (!runs(t))
            continue;
        if (t->state == RANK_KILLED)
            log_warning("%s (pid %d) does not end by SIGKILL either: the kernel keeps it, and the "
                        "job ends without it",
                        who, (int)o->pid);
        else
            log_warning("%s (pid %d) has not ended in its grace of %.1f s: killed", who,
                        (int)o->pid, (double)(clock_ms() - o->told_ms) / 1000);
    }
}

void crew_show_hidden(const struct crew *c, unsigned rank)
{
    for (size_t i = c->n_steps; i < c->n; i++) {
        const struct task *t = &c->tasks[i];

        if (t->outcome.rank != rank || !t->out)
            continue;
        logmux_show_tail(c->mux, t->out);
        logmux_show_tail(c->mux, t->err);
    }
}
