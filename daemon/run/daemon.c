/* SPDX-License-Identifier: Apache-2.0
 *
 * Drives core/job_fsm: the only place that knows all the others. Callbacks post events; handle()
 * alone steps the machines. */
#include "config.h"

#include "run/daemon.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/files.h"
#include "base/log.h"
#include "base/mem.h"
#include "core/job_fsm.h"
#include "core/report.h"
#include "core/verdict.h"
#include "input/inputs.h"
#include "input/output.h"
#include "run/events.h"
#include "run/keeper.h"
#include "run/killtree.h"
#include "run/logmux.h"
#include "run/memory.h"
#include "run/network.h"
#include "run/reaper.h"
#include "run/signals.h"
#include "run/task.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define RESOLVE_LIMIT_MS 1000 /* for the host's own name; 127.0.0.1 serves as well */
#define KILL_LIMIT_MS    5000 /* from SIGKILL to giving up on a process stuck in the kernel */
#define CLEAR_LIMIT_MS   3000 /* for strays to die and streams to end */
#define MARK_SIZE        33

static struct daemon {
    const struct inputs_options *options;
    struct inputs in;
    uv_loop_t loop;
    struct logmux *mux;
    struct output *output;
    struct memory_watch memory;
    char mark[MARK_SIZE];
    pid_t keeper;
    struct task *tasks; /* steps, then ranks (or the launch) */
    size_t n_tasks, n_steps;
    size_t step; /* the next one to start */
    enum job_state state;
    uv_timer_t grace, early, limit;
    bool planned; /* the machine may move */
    bool stop_asked;
    bool stopped; /* a stop came before any failure */
    bool failing; /* the first failure has been seen */
    bool early_final;
    bool clear_late;
    uint64_t start_ms, stop_ms;
    struct err trouble;
    int status;
} d;

static void post_job(enum job_event event)
{
    events_post((struct event){.kind = EV_JOB, .value = (int)event});
}

/* ---- start -------------------------------------------------------------------------------- */

/* The job's own level (10 debug, 20 information, 30 warning, 40 error) unless log.level is set. */
static enum log_level level_wanted(const struct settings *settings, const struct job *job)
{
    static const char *const names[] = {"debug", "info", "warning", "error"};
    long number = 20;

    for (size_t i = 0; i < LENGTH(names); i++)
        if (strcmp(settings->log_level, names[i]) == 0)
            return (enum log_level)i;
    if (!json_integer(job->log_level, 0, 1000, &number))
        return LOG_INFO;
    return number <= 10   ? LOG_DEBUG
           : number <= 20 ? LOG_INFO
           : number <= 30 ? LOG_WARNING
                          : LOG_ERROR;
}

/* The warnings; `serry check` shows the rest. */
static void say_warnings(const struct findings *findings)
{
    for (size_t i = 0; i < findings->n; i++) {
        auto_free char *text = redact_text(d.in.redact, findings->v[i].text);

        if (!findings->v[i].fatal)
            log_warning("%s", text);
    }
}

/* One line of what was filled in and what was left because it was set (field case 09). */
static void say_tuning(const struct plan *plan)
{
    auto_free char *filled = strv_join(&plan->filled, " ");
    auto_free char *left = strv_join(&plan->left_alone, " ");

    if (plan->filled.n || plan->left_alone.n)
        log_info("variables filled in: %s; left as they were set: %s", *filled ? filled : "none",
                 *left ? left : "none");
}

static void say_start(const struct plan *plan)
{
    const struct job *job = d.in.job;

    log_info("serried %s: job %s, host %s, launcher %s, %u %s", PACKAGE_VERSION,
             job->training_job ? job->training_job : "without a name", plan->host, plan->launcher,
             plan->world, plan->world == 1 ? "rank" : "ranks");
    say_tuning(plan);
    if (!job->facts.own_name_resolves)
        log_info("host name %s does not resolve: MASTER_ADDR is 127.0.0.1", job->host);
    if (job->facts.master_port != d.in.settings.master_port)
        log_info("port %ld is taken: MASTER_PORT is %u", d.in.settings.master_port,
                 job->facts.master_port);
}

static void out_of_memory(void)
{
    (void)killtree_kill(d.mark, d.keeper);
    (void)output_failure_early(d.in.base, "launcher: out of memory, the job was ended\n");
}

/* What belongs to this version alone: the parts of later ones are refused, not half done. */
static void check_one_host(struct findings *findings)
{
    if (d.in.job->hosts.n > 1)
        findings_fatal(findings, BLAME_SELF,
                       "resourceconfig.json: /hosts: %zu hosts; this version of serried runs jobs "
                       "of one host",
                       d.in.job->hosts.n);
}

/* What the plan needs to know of the network before it can be made. */
static void ask_network(void)
{
    const char *own = json_string(json_get(d.in.tree.resourceconfig, "current_host"));

    if (!own || findings_first_fatal(&d.in.findings))
        return;
    d.in.facts.own_name_resolves = network_resolves(&d.loop, own, RESOLVE_LIMIT_MS);
    d.in.facts.master_port = network_choose_port((unsigned)d.in.settings.master_port);
    if (!d.in.facts.master_port)
        findings_fatal(&d.in.findings, BLAME_PLATFORM, "no TCP port can be had for MASTER_PORT");
}

static void write_plan_files(const struct plan *plan)
{
    for (size_t i = 0; i < plan->n_files; i++) {
        const struct plan_file *file = &plan->files[i];
        auto_free char *folder = mem_dup(file->path);
        char *slash = strrchr(folder, '/');
        int rc = 0;

        if (slash) {
            *slash = '\0';
            rc = folder_make(folder);
        }
        if (!rc)
            rc = file_write_private(file->path, file->text, strlen(file->text));
        if (rc)
            log_warning("%s: cannot be written (%s)", file->path, strerror(-rc));
    }
}

/* A command needs its x bits; nothing else of its mode changes (W20). */
static void make_executable(const char *path)
{
    struct stat st;

    if (!path || stat(path, &st) < 0 || (st.st_mode & S_IXUSR))
        return;
    if (chmod(path, (st.st_mode & 07777) | S_IXUSR | S_IXGRP | S_IXOTH) < 0)
        log_warning("%s: cannot be made executable (%s)", path, strerror(errno));
}

static void add_tasks(const struct plan *plan)
{
    size_t n_ranks = plan->has_launch ? 1 : plan->n_ranks;
    bool elastic = strcmp(plan->launcher, "torch") == 0 && !plan->has_launch;

    d.n_steps = plan->n_steps;
    d.n_tasks = plan->n_steps + n_ranks;
    d.tasks = mem_zero(d.n_tasks * sizeof(*d.tasks));
    for (size_t i = 0; i < d.n_tasks; i++) {
        struct task *t = &d.tasks[i];
        const struct plan_rank *rank = NULL;

        t->outcome.host = plan->host;
        if (i < d.n_steps) {
            t->outcome.step = plan->steps[i].name;
            continue;
        }
        rank = plan->has_launch ? &plan->launch : &plan->ranks[i - d.n_steps];
        t->outcome.rank = rank->rank;
        t->outcome.local_rank = rank->local_rank;
        t->out_path = output_log_path(d.output, rank->rank, "out");
        t->err_path = output_log_path(d.output, rank->rank, "err");
        if (elastic)
            t->error_file = output_error_path(d.output, rank->rank);
    }
}

/* ---- tasks -------------------------------------------------------------------------------- */

static bool any_live(void)
{
    for (size_t i = 0; i < d.n_tasks; i++)
        if (task_is_live(&d.tasks[i]))
            return true;
    return false;
}

static void fail(void)
{
    if (d.failing)
        return;
    d.failing = true;
    reaper_look(); /* who is dead already died before us, not because of us */
    post_job(JEV_FAILED);
}

static void start_task(struct task *t, const struct strv *argv, const struct strv *env,
                       const char *cwd)
{
    struct task_spec spec = {.argv = strv_list(argv), .env = strv_list(env), .cwd = cwd};

    if (task_start(t, &spec, d.mux)) {
        keeper_add(t->outcome.pid);
        return;
    }
    log_error("%s", t->outcome.spawn_error);
    fail();
}

static void on_step_limit(uv_timer_t *timer)
{
    (void)timer;
    events_post((struct event){.kind = EV_LATE, .target = &d.tasks[d.step - 1]});
}

static void next_step(void)
{
    const struct plan_step *step = &d.in.plan->steps[d.step];
    auto_strv struct strv env = {0};
    auto_free char *words = NULL;
    auto_free char *shown = NULL;

    (void)uv_timer_stop(&d.limit);
    if (d.step == d.n_steps) {
        post_job(JEV_PREPARED);
        return;
    }
    words = strv_join(&step->argv, " ");
    shown = redact_text(d.in.redact, words);
    log_info("step %s: %s", step->name, shown);
    strv_add_all(&env, &d.in.job->container);
    strv_env_set(&env, KILLTREE_MARK, d.mark);
    (void)uv_timer_start(&d.limit, on_step_limit, (uint64_t)step->deadline_s * 1000, 0);
    d.step++;
    start_task(&d.tasks[d.step - 1], &step->argv, &env, step->cwd);
}

static void rank_env(const struct plan_rank *rank, const struct task *t, struct strv *env)
{
    plan_rank_environment(d.in.plan, rank, &d.in.job->container, env);
    strv_env_set(env, KILLTREE_MARK, d.mark);
    if (t->error_file)
        strv_env_set(env, "TORCHELASTIC_ERROR_FILE", t->error_file);
}

static void start_ranks(void)
{
    const struct plan *plan = d.in.plan;
    uint64_t begin = clock_ms();

    make_executable(plan->executable);
    for (size_t i = d.n_steps; i < d.n_tasks && !d.failing; i++) {
        const struct plan_rank *rank =
            plan->has_launch ? &plan->launch : &plan->ranks[i - d.n_steps];
        auto_strv struct strv env = {0};

        rank_env(rank, &d.tasks[i], &env);
        start_task(&d.tasks[i], &rank->argv, &env, rank->cwd);
    }
    if (!d.failing)
        log_info("%zu %s started in %u ms", d.n_tasks - d.n_steps,
                 d.n_tasks - d.n_steps == 1 ? "process" : "processes",
                 (unsigned)(clock_ms() - begin));
}

/* ---- ending ------------------------------------------------------------------------------- */

static void on_grace(uv_timer_t *timer)
{
    (void)timer;
    post_job(JEV_GRACE);
}

static uint64_t to_ms(double seconds)
{
    return (uint64_t)(seconds * 1000);
}

static void tell_all(enum rank_event event)
{
    for (size_t i = 0; i < d.n_tasks; i++)
        (void)task_event(&d.tasks[i], event);
}

static void on_clear_limit(uv_timer_t *timer)
{
    (void)timer;
    post_job(JEV_GRACE);
}

/* While clearing: goes on once no stray is left and every stream has ended. */
static void look_if_clear(void)
{
    if (d.state != JOB_CLEARING)
        return;
    for (size_t i = 0; i < d.n_tasks; i++)
        if (d.tasks[i].state != RANK_DONE)
            return;
    if (!d.clear_late && killtree_kill(d.mark, d.keeper) > 0)
        return; /* their deaths will bring us back here */
    (void)uv_timer_stop(&d.grace);
    post_job(JEV_CLEAR);
}

static void clear(void)
{
    (void)uv_timer_stop(&d.early);
    (void)uv_timer_stop(&d.limit);
    (void)uv_timer_start(&d.grace, on_clear_limit, CLEAR_LIMIT_MS, 0);
    (void)killtree_kill(d.mark, d.keeper);
    tell_all(REV_STOP); /* what was never started is over */
    look_if_clear();
}

static void name_the_stubborn(void)
{
    for (size_t i = 0; i < d.n_tasks; i++) {
        const struct outcome *o = &d.tasks[i].outcome;

        if (task_is_live(&d.tasks[i]))
            log_warning("%s %u (pid %d) has not ended in its grace of %.0f s: killed",
                        o->step ? o->step : "rank", o->rank, (int)o->pid,
                        (double)(clock_ms() - o->told_ms) / 1000);
    }
}

static void kill_all(void)
{
    if (d.state == JOB_STOPPING)
        name_the_stubborn();
    (void)killtree_kill(d.mark, d.keeper);
    tell_all(REV_GRACE);
    (void)uv_timer_start(&d.grace, on_grace, KILL_LIMIT_MS, 0);
    if (!any_live())
        post_job(JEV_EXITED);
}

static void term_all(void)
{
    double grace_s = d.stopped ? d.in.settings.stop_grace_s : d.in.settings.stop_failure_grace_s;

    (void)uv_timer_stop(&d.early);
    tell_all(REV_STOP);
    (void)uv_timer_start(&d.grace, on_grace, to_ms(grace_s), 0);
    if (!any_live())
        post_job(JEV_EXITED);
}

static struct outcome *outcomes_of_all(size_t *n)
{
    struct outcome *all = mem_zero((d.n_tasks + 1) * sizeof(*all));

    *n = 0;
    for (size_t i = 0; i < d.n_tasks; i++) {
        struct task *t = &d.tasks[i];

        if (!t->outcome.started && !t->outcome.spawn_error)
            continue;
        if (t->outcome.step && outcome_status(&t->outcome) == 0)
            continue;
        task_collect(t);
        all[(*n)++] = t->outcome; /* borrowed texts */
    }
    return all;
}

static void show_hidden(const struct outcome *first)
{
    for (size_t i = 0; first && i < d.n_tasks; i++) {
        if (d.tasks[i].outcome.pid != first->pid || !d.tasks[i].out)
            continue;
        logmux_show_tail(d.mux, d.tasks[i].out);
        logmux_show_tail(d.mux, d.tasks[i].err);
    }
}

static void write_files(const struct verdict *v, const struct verdict_input *in)
{
    cJSON *json = v->kind == VERDICT_SUCCESS ? NULL : report_json(v, in, d.in.redact);
    auto_free char *text = NULL;
    int rc = 0;

    if (v->kind == VERDICT_SUCCESS) {
        rc = output_success(d.output);
    } else if (v->kind == VERDICT_STOPPED) {
        output_stopped(d.output, json);
    } else {
        text = report_failure(v, in, d.in.redact);
        rc = output_failure(d.output, text, json);
    }
    if (rc)
        log_warning("the %s file cannot be written (%s); the exit status stays %d",
                    v->kind == VERDICT_SUCCESS ? "success" : "failure", strerror(-rc), v->status);
    cJSON_Delete(json);
}

static void say_verdict(const struct verdict *v, const struct verdict_input *in)
{
    auto_free char *text = report_summary(v, in, d.in.redact);

    for (char *line = text, *end; line && *line; line = end ? end + 1 : NULL) {
        end = strchr(line, '\n');
        if (end)
            *end = '\0';
        log_line(v->kind == VERDICT_FAILED ? LOG_ERROR : LOG_INFO, "%s", line);
    }
}

static void on_written(void *data)
{
    (void)data;
    post_job(JEV_WRITTEN);
}

static void report(void)
{
    uint64_t drain = to_ms(d.in.settings.stop_drain_s);
    uint64_t deadline = d.stopped ? d.stop_ms + to_ms(d.in.settings.stop_grace_s) + drain : 0;
    size_t n;
    auto_free struct outcome *outcomes = outcomes_of_all(&n);
    struct verdict_input in = {.outcomes = outcomes,
                               .n = n,
                               .stopped = d.stopped,
                               .trouble = d.trouble.code ? &d.trouble : NULL,
                               .host = d.in.plan->host,
                               .early_exit_final = d.early_final};
    struct verdict *v;

    memory_read(&d.memory, &in.memory);
    v = verdict_new(&in);
    d.status = v->status;
    write_files(v, &in);
    show_hidden(v->first);
    say_verdict(v, &in);
    verdict_free(v);
    logmux_finish(d.mux, drain, deadline, on_written, NULL);
}

static void close_timer(uv_timer_t *timer)
{
    uv_close((uv_handle_t *)timer, NULL);
}

static void end(void)
{
    log_to(NULL, NULL);
    logmux_close(TAKE(d.mux));
    reaper_close();
    signals_close();
    events_close();
    close_timer(&d.grace);
    close_timer(&d.early);
    close_timer(&d.limit);
}

static void job_event(enum job_event event)
{
    enum job_state before = d.state;
    unsigned what;

    if (before == JOB_CLEARING && event == JEV_GRACE) {
        d.clear_late = true;
        tell_all(REV_GRACE);
        look_if_clear();
        return;
    }
    if (event == JEV_EXITED && any_live())
        return; /* the ranks came after a step */
    what = job_step(&d.state, event);
    if (d.state != before)
        log_debug("job: %s, %s to %s", job_event_name(event), job_state_name(before),
                  job_state_name(d.state));
    if (what & JDO_START)
        start_ranks();
    if (what & JDO_TERM)
        term_all();
    if (what & JDO_KILL)
        kill_all();
    if (what & JDO_CLEAR)
        clear();
    if (what & JDO_REPORT)
        report();
    if (what & JDO_END)
        end();
}

/* ---- events ------------------------------------------------------------------------------- */

static void ask_stop(int number)
{
    if (d.stop_asked && number == SIGINT) { /* a second Ctrl-C does not wait */
        post_job(JEV_GRACE);
        return;
    }
    if (d.stop_asked)
        return;
    d.stop_asked = true;
    d.stop_ms = clock_ms();
    log_info("%s: every rank is asked to end, grace %.0f s",
             number == SIGINT ? "SIGINT" : "SIGTERM", d.in.settings.stop_grace_s);
    if (d.planned && !d.failing) {
        d.stopped = true;
        post_job(JEV_STOP);
    }
}

static void on_signal(int number)
{
    if (number == SIGTERM || number == SIGINT) {
        ask_stop(number);
        return;
    }
    for (size_t i = d.n_steps; i < d.n_tasks; i++)
        if (task_is_live(&d.tasks[i]))
            (void)kill(d.tasks[i].outcome.pid, number);
}

static void on_early(uv_timer_t *timer)
{
    (void)timer;
    events_post((struct event){.kind = EV_EARLY});
}

static void say_early(void)
{
    auto_strv struct strv running = {0};
    auto_strv struct strv gone = {0};
    auto_free char *running_text = NULL;
    auto_free char *gone_text = NULL;

    for (size_t i = d.n_steps; i < d.n_tasks; i++)
        strv_addf(task_is_live(&d.tasks[i]) ? &running : &gone, "%u", d.tasks[i].outcome.rank);
    running_text = strv_join(&running, ", ");
    gone_text = strv_join(&gone, ", ");
    log_warning("rank %s ended with 0 more than %ld s ago; still running: rank %s", gone_text,
                d.in.settings.early_exit_s, running_text);
    if (!d.in.settings.early_exit_fails)
        return;
    d.early_final = true;
    fail();
}

/* A rank is gone, with 0, while others still run. */
static void mind_early_exit(void)
{
    if (d.state != JOB_RUNNING || !d.in.settings.early_exit_s || !any_live() ||
        uv_is_active((uv_handle_t *)&d.early))
        return;
    (void)uv_timer_start(&d.early, on_early, (uint64_t)d.in.settings.early_exit_s * 1000, 0);
}

static void on_reaped(const struct event *event)
{
    struct task *t = NULL;

    for (size_t i = 0; i < d.n_tasks && !t; i++)
        if (task_is_live(&d.tasks[i]) && d.tasks[i].outcome.pid == event->pid)
            t = &d.tasks[i];
    if (!t) { /* an adopted orphan */
        look_if_clear();
        return;
    }
    task_ended(t, event->value, event->extra);
    (void)task_event(t, REV_EXIT);
    if (outcome_status(&t->outcome) != 0 && d.state <= JOB_RUNNING)
        fail();
    else if (t->outcome.step && d.state == JOB_PREPARING && !d.failing && !d.stop_asked)
        next_step();
    else
        mind_early_exit();
    if (!any_live())
        post_job(JEV_EXITED);
}

static void on_late_step(const struct task *t)
{
    if (!task_is_live(t) || d.failing)
        return;
    (void)err_set(&d.trouble, BLAME_USER, -ETIMEDOUT,
                  "step %s: not finished after %ld s (step.install_limit_s)", t->outcome.step,
                  d.in.settings.install_limit_s);
    fail();
}

static void handle(const struct event *event)
{
    switch (event->kind) {
    case EV_REAPED:
        on_reaped(event);
        break;
    case EV_EOF:
        (void)task_event(event->target, REV_EOF);
        look_if_clear();
        break;
    case EV_SIGNAL:
        on_signal(event->value);
        break;
    case EV_JOB:
        job_event((enum job_event)event->value);
        break;
    case EV_EARLY:
        say_early();
        break;
    case EV_LATE:
        on_late_step(event->target);
        break;
    }
}

static void settled(void)
{
    if (d.mux)
        logmux_flush(d.mux);
}

static void on_child(void *data, pid_t pid, int status, const struct rusage *usage)
{
    (void)data;
    if (pid == d.keeper) {
        d.keeper = 0; /* somebody killed it; the job goes on without */
        return;
    }
    events_post(
        (struct event){.kind = EV_REAPED, .pid = pid, .value = status, .extra = usage->ru_maxrss});
}

/* ---- the one way through ------------------------------------------------------------------- */

static int open_loop(void)
{
    int rc = uv_loop_init(&d.loop);

    if (!rc)
        rc = events_open(&d.loop, handle, settled);
    if (!rc)
        rc = signals_open(&d.loop);
    if (!rc)
        rc = reaper_open(&d.loop, on_child, NULL);
    if (!rc)
        rc = uv_timer_init(&d.loop, &d.grace);
    if (!rc)
        rc = uv_timer_init(&d.loop, &d.early);
    if (!rc)
        rc = uv_timer_init(&d.loop, &d.limit);
    return rc;
}

/* The job cannot run: says why, writes the failure file. */
static int refuse(const struct finding *why)
{
    struct verdict_input in = {.host = d.in.job ? d.in.job->host : ""};
    struct err trouble = ERR_INIT;
    struct verdict *v;
    auto_free char *shown = NULL;
    auto_free char *text = NULL;
    int status;

    (void)err_set(&trouble, why->blame, -EINVAL, "%s", why->text);
    shown = redact_text(d.in.redact, why->text);
    log_error("%s", shown);
    in.trouble = &trouble;
    v = verdict_new(&in);
    status = v->status;
    if (d.in.job && *d.in.job->host) {
        d.output = output_new(d.in.base, d.in.job->host);
        write_files(v, &in);
    } else {
        text = report_failure(v, &in, d.in.redact);
        if (output_failure_early(d.in.base, text) < 0)
            log_warning("%s/output/failure: cannot be written", d.in.base);
    }
    verdict_free(v);
    return status;
}

static void run(void)
{
    const struct plan *plan = d.in.plan;

    d.output = output_new(d.in.base, plan->host);
    memory_open(&d.memory, d.in.settings.cgroup_root);
    write_plan_files(plan);
    d.mux = logmux_open(&d.loop, &d.in.settings, plan->world > 1 && !plan->has_launch);
    log_to(logmux_own_line, d.mux);
    say_warnings(&d.in.findings);
    say_start(plan);
    add_tasks(plan);
    d.planned = true;
    d.start_ms = clock_ms();
    if (d.stop_asked) {
        d.stopped = true;
        post_job(JEV_STOP);
    } else {
        next_step();
    }
    (void)uv_run(&d.loop, UV_RUN_DEFAULT);
}

static void dismiss_keeper(void)
{
    keeper_dismiss();
    if (d.keeper <= 0)
        return;
    (void)kill(d.keeper, SIGKILL);
    while (waitpid(d.keeper, NULL, 0) < 0 && errno == EINTR)
        ;
}

static void close_all(void)
{
    for (size_t i = 0; i < d.n_tasks; i++)
        task_done(&d.tasks[i]);
    free(d.tasks);
    output_free(d.output);
    inputs_done(&d.in);
    if (network_is_busy()) /* its thread would hold up the end of the process */
        _exit(d.status);
    (void)uv_loop_close(&d.loop);
}

int daemon_run(const struct inputs_options *options)
{
    const struct finding *why;
    int rc;

    d.options = options;
    inputs_read(options, &d.in);
    killtree_new_mark(d.mark);
    mem_on_failure(out_of_memory);
    log_set_json(strcmp(d.in.settings.log_format, "json") == 0);
    if (!findings_first_fatal(&d.in.findings))
        d.keeper = keeper_start(d.mark);
    rc = open_loop();
    if (rc)
        findings_fatal(&d.in.findings, BLAME_PLATFORM, "cannot set up the event loop: %s",
                       uv_strerror(rc));
    ask_network();
    inputs_plan(options, &d.in);
    log_set_level(level_wanted(&d.in.settings, d.in.job));
    check_one_host(&d.in.findings);
    why = findings_first_fatal(&d.in.findings);
    if (why) {
        say_warnings(&d.in.findings);
        d.status = refuse(why);
        end();
        (void)uv_run(&d.loop, UV_RUN_DEFAULT);
    } else {
        run();
    }
    dismiss_keeper();
    close_all();
    return d.status;
}
