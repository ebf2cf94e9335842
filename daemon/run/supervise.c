/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "run/supervise.h"

#include <signal.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "core/job_fsm.h"
#include "core/testimony.h"
#include "core/verdict.h"
#include "input/inputs.h"
#include "input/output.h"
#include "run/account.h"
#include "run/begin.h"
#include "run/crew.h"
#include "run/events.h"
#include "run/killtree.h"
#include "run/logmux.h"
#include "run/memory.h"
#include "run/peers.h"
#include "run/reaper.h"
#include "run/task.h"

#define KILL_LIMIT_MS  5000 /* from SIGKILL to giving up on a process stuck in the kernel */
#define CLEAR_LIMIT_MS 3000 /* for strays to die and streams to end */
#define COARSE_MS      100  /* by which the loop's clock may be behind, and more */

static struct {
    struct supervise_spec spec;
    struct inputs *in;
    struct logmux *mux;
    struct output *output;
    struct finding taken;          /* the one of two daemons at once that goes */
    const struct finding *refused; /* why the job does not run; NULL: it does */
    struct err trouble;            /* what kept the hosts from meeting; code 0: nothing */
    struct memory_watch memory;
    struct memory_facts memory_facts;
    struct outcome *outcomes; /* of this host, when all has ended; NULL: not yet */
    size_t n_outcomes;
    struct peers_news *given; /* the leader's verdict; NULL: none came */
    struct crew crew;
    enum job_state state;
    uv_timer_t grace, early, limit;
    bool many;  /* other hosts take part, and have been called */
    bool begun; /* there is a job: a stop moves the machine */
    bool stop_asked;
    bool interrupted; /* by a SIGINT, the first stop or not */
    bool stopped;     /* a stop came before any failure */
    bool failing;     /* the first failure has been seen */
    bool early_final;
    bool look; /* something came to its end: all may be clear */
    uint64_t stop_ms;
    int status;
} s;

static void post_job(enum job_event event)
{
    events_post((struct event){.kind = EV_JOB, .value = (int)event});
}

static uint64_t to_ms(double seconds)
{
    return (uint64_t)(seconds * 1000);
}

/* From now, not from when the loop last looked at its clock: to start many ranks takes a while. */
static void arm(uv_timer_t *timer, uv_timer_cb on_time, uint64_t ms)
{
    uv_update_time(s.spec.loop);
    (void)uv_timer_start(timer, on_time, ms, 0);
}

/* Once, and only then: who is dead already died before us, not because of us. */
static void fail(void)
{
    if (s.failing)
        return;
    s.failing = true;
    reaper_look();
    post_job(JEV_FAILED);
}

/* The failure is one of this host: the others are told at once. */
static void fail_here(const struct task *t)
{
    if (s.many && !s.failing) {
        auto_free char *where = verdict_where(&t->outcome);
        auto_free char *what = outcome_text(&t->outcome);
        auto_free char *text = mem_printf("%s: %s", where, what);

        peers_end(false, text);
    }
    fail();
}

static void on_early(uv_timer_t *timer)
{
    (void)timer;
    events_post((struct event){.kind = EV_EARLY});
}

/* A rank is gone, with 0, while others still run. */
static void mind_early_exit(void)
{
    uint64_t limit_ms = (uint64_t)s.in->settings.early_exit_s * 1000;

    if (limit_ms && !uv_is_active((uv_handle_t *)&s.early))
        arm(&s.early, on_early, limit_ms);
}

/* ---- start -------------------------------------------------------------------------------- */

static void on_step_limit(uv_timer_t *timer)
{
    (void)timer;
    events_post((struct event){.kind = EV_LATE, .target = crew_step(&s.crew)});
}

static void next_step(void)
{
    const struct plan_step *step = crew_next_step(&s.crew);

    (void)uv_timer_stop(&s.limit);
    if (!step) {
        post_job(JEV_PREPARED);
        return;
    }
    arm(&s.limit, on_step_limit, (uint64_t)step->deadline_s * 1000);
    if (!crew_start_step(&s.crew))
        fail_here(crew_step(&s.crew));
}

static void gather(void)
{
    if (s.many)
        peers_ready();
    else
        post_job(JEV_STARTED);
}

static void start_ranks(void)
{
    const struct task *failed;

    begin_make_files(s.in->plan);
    failed = crew_start_ranks(&s.crew);
    if (failed)
        fail_here(failed);
    if (!crew_runs(&s.crew))
        post_job(JEV_EXITED);
}

/* ---- ending ------------------------------------------------------------------------------- */

static void on_grace(uv_timer_t *timer)
{
    (void)timer;
    post_job(JEV_GRACE);
}

static void kill_tree(void)
{
    (void)killtree_kill(s.spec.mark, *s.spec.keeper);
}

static void term_all(void)
{
    double grace_s = s.stopped ? s.in->settings.stop_grace_s : s.in->settings.stop_failure_grace_s;

    (void)uv_timer_stop(&s.early);
    (void)uv_timer_stop(&s.limit);
    crew_tell(&s.crew, REV_STOP);
    arm(&s.grace, on_grace, to_ms(grace_s));
    if (!crew_runs(&s.crew))
        post_job(JEV_EXITED);
}

static void kill_all(void)
{
    crew_name_stubborn(&s.crew);
    kill_tree();
    crew_tell(&s.crew, REV_GRACE);
    arm(&s.grace, on_grace, KILL_LIMIT_MS);
    if (!crew_runs(&s.crew))
        post_job(JEV_EXITED);
}

/* While clearing: goes on once no stray is left and every stream has ended. */
static void look_if_clear(void)
{
    if (s.state != JOB_CLEARING)
        return;
    if (killtree_kill(s.spec.mark, *s.spec.keeper) > 0 || !crew_is_done(&s.crew))
        return; /* what ends brings us back here */
    (void)uv_timer_stop(&s.grace);
    post_job(JEV_CLEAR);
}

static void clear(void)
{
    (void)uv_timer_stop(&s.early);
    arm(&s.grace, on_grace, CLEAR_LIMIT_MS);
    crew_tell(&s.crew, REV_STOP); /* what was never started is over */
    s.look = true;
}

static void cut(void)
{
    size_t left = killtree_count(s.spec.mark, *s.spec.keeper);

    if (left)
        log_warning("%zu %s of the job still there although killed: the job ends without waiting",
                    left, left == 1 ? "process is" : "processes are");
    kill_tree();
    crew_tell(&s.crew, REV_GRACE);
}

/* What the leader is told; what kept this host from starting is like a step that failed. */
static cJSON *own_report(void)
{
    size_t n = s.n_outcomes;
    cJSON *report;

    if (s.trouble.code)
        s.outcomes[n++] = (struct outcome){.host = s.in->job->host,
                                           .step = "meeting",
                                           .spawn_blame = s.trouble.blame,
                                           .spawn_error = s.trouble.text};
    report = testimony_json(s.outcomes, n, &s.memory_facts, s.in->redact);
    if (s.early_final)
        json_add(report, TESTIMONY_EARLY, mem_check(cJSON_CreateTrue()));
    return report;
}

/* All has ended here: what became of it is kept, and told. */
static void tell(void)
{
    s.outcomes = crew_outcomes(&s.crew, &s.n_outcomes);
    memory_read(&s.memory, &s.memory_facts);
    if (!s.many) {
        post_job(JEV_JUDGED);
        return;
    }
    if (!s.failing && !s.stopped)
        mind_early_exit();
    peers_report(own_report());
}

static void on_written(void *data)
{
    (void)data;
    post_job(JEV_WRITTEN);
}

/* The console has until `deadline_ms` (0: no end) to take the rest, as long as it takes some. */
static void wait_for_console(uint64_t deadline_ms)
{
    logmux_finish(s.mux, to_ms(s.in->settings.stop_drain_s), deadline_ms, on_written, NULL);
}

/* Whoever asked for a stop has so much patience. */
static uint64_t stop_deadline(void)
{
    return s.stop_ms + to_ms(s.in->settings.stop_grace_s) + to_ms(s.in->settings.stop_drain_s);
}

static void report(void)
{
    const struct account account = {.in = s.in,
                                    .output = s.output,
                                    .crew = &s.crew,
                                    .outcomes = s.outcomes,
                                    .n = s.n_outcomes,
                                    .memory = &s.memory_facts,
                                    .many = s.many,
                                    .given = s.given ? &s.given->message : NULL,
                                    .refused = s.refused,
                                    .trouble = s.trouble.code ? &s.trouble : NULL,
                                    .stopped = s.stopped,
                                    .early_final = s.early_final};

    (void)uv_timer_stop(&s.early);
    if (!s.refused)
        begin_remove_files(s.in->plan);
    s.status = account_give(&account);
    wait_for_console(s.stop_asked ? stop_deadline() : 0);
}

static void end(void)
{
    if (s.many)
        peers_close();
    log_to(NULL, NULL);
    logmux_close(TAKE(s.mux));
    uv_close((uv_handle_t *)&s.grace, NULL);
    uv_close((uv_handle_t *)&s.early, NULL);
    uv_close((uv_handle_t *)&s.limit, NULL);
    s.spec.on_ended();
}

static void job_event(enum job_event event)
{
    static const struct {
        enum job_do bit;
        void (*run)(void);
    } orders[] = {
        {JDO_GATHER, gather     },
        {JDO_START,  start_ranks},
        {JDO_TERM,   term_all   },
        {JDO_KILL,   kill_all   },
        {JDO_CLEAR,  clear      },
        {JDO_CUT,    cut        },
        {JDO_TELL,   tell       },
        {JDO_REPORT, report     },
        {JDO_END,    end        },
    };
    enum job_state before = s.state;
    unsigned what;

    if (event == JEV_EXITED && crew_runs(&s.crew))
        return; /* the ranks came after a step */
    what = job_step(&s.state, event);
    if (s.state != before)
        log_debug("job: %s, %s to %s", job_event_name(event), job_state_name(before),
                  job_state_name(s.state));
    for (size_t i = 0; i < LENGTH(orders); i++)
        if (what & orders[i].bit)
            orders[i].run();
}

/* ---- events ------------------------------------------------------------------------------- */

/* Have all ranks ended by themselves, so that there is nothing to stop? Not if those of other hosts
 * go on. */
static bool is_over(void)
{
    if (s.many && s.state <= JOB_AGREEING)
        return s.stopped;
    return s.state >= JOB_CLEARING || (s.state == JOB_RUNNING && !crew_runs(&s.crew));
}

static void stop_first(const char *name)
{
    s.stop_asked = true;
    s.stop_ms = clock_ms();
    if (s.state == JOB_REPORTING)
        wait_for_console(stop_deadline());
    if (s.failing || is_over()) {
        log_info("%s: the job is ending already", name);
        return;
    }
    log_info("%s: every rank is asked to end, grace %.0f s", name, s.in->settings.stop_grace_s);
    if (s.many) {
        auto_free char *text = mem_printf("%s on %s", name, s.in->job->host);

        peers_end(true, text);
    }
    if (s.begun) {
        s.stopped = true;
        post_job(JEV_STOP);
    }
}

/* A second Ctrl-C does not wait. */
static void stop_again(void)
{
    if (s.state == JOB_REPORTING)
        wait_for_console(clock_ms());
    post_job(JEV_GRACE);
}

static void on_signal(int number)
{
    if (number != SIGTERM && number != SIGINT)
        crew_signal(&s.crew, number);
    else if (!s.stop_asked)
        stop_first(number == SIGINT ? "SIGINT" : "SIGTERM");
    else if (number == SIGINT && s.interrupted)
        stop_again();
    s.interrupted |= number == SIGINT;
}

/* "rank 0, 2, algo-3": ranks of this host, then others' that the leader knows of; to free(). */
static char *with_hosts(const char *ranks, bool reported)
{
    auto_free char *hosts = s.many ? peers_list(reported) : mem_dup("");

    return mem_printf("%s%s%s%s", *ranks ? "rank " : "", ranks, *ranks && *hosts ? ", " : "",
                      hosts);
}

static void on_early_exit(void)
{
    long limit_s = s.in->settings.early_exit_s;
    uint64_t since_ms = clock_ms() + COARSE_MS - (uint64_t)limit_s * 1000;
    auto_free char *ranks = crew_list_running(&s.crew);
    auto_free char *ended = crew_list_gone(&s.crew, since_ms);
    auto_free char *running = with_hosts(ranks, false);
    auto_free char *gone = with_hosts(ended, true);

    if (s.failing || s.stopped || !*running || (s.state != JOB_RUNNING && s.state != JOB_AGREEING))
        return;
    log_warning("%s ended with 0 more than %ld s ago; still running: %s", gone, limit_s, running);
    if (!s.in->settings.early_exit_fails)
        return;
    s.early_final = true;
    if (s.many)
        peers_end(false, "a rank left early");
    fail();
}

static void on_reaped(const struct event *event)
{
    struct task *t = crew_find(&s.crew, event->pid);

    s.look = true;
    if (!t) /* an adopted orphan */
        return;
    task_ended(t, event->value, event->extra);
    (void)task_event(t, REV_EXIT);
    if (outcome_status(&t->outcome) != 0 && s.state <= JOB_RUNNING)
        fail_here(t);
    else if (t->outcome.step && s.state == JOB_PREPARING && !s.failing && !s.stop_asked)
        next_step();
    else if (s.state == JOB_RUNNING && crew_runs(&s.crew))
        mind_early_exit();
    if (!crew_runs(&s.crew))
        post_job(JEV_EXITED);
}

static void on_late_step(struct task *t)
{
    if (s.state != JOB_PREPARING || s.failing || s.stopped || !task_is_live(t))
        return;
    t->outcome.overdue_s = s.in->plan->steps[t - s.crew.tasks].deadline_s;
    fail_here(t);
}

/* ---- the other hosts ----------------------------------------------------------------------- */

/* Something on another host ends the job. */
static void on_end(const struct peers_news *news)
{
    auto_free char *text = redact_text(s.in->redact, news->message.text);

    if (s.failing || s.stopped)
        return;
    log_info("%s: every rank is asked to end", text);
    if (news->message.stopped) {
        s.stopped = true;
        post_job(JEV_STOP);
    } else {
        fail();
    }
}

/* The hosts cannot meet: those that are there end too. */
static void on_fault(const struct peers_news *news)
{
    if (s.failing || s.stopped)
        return;
    s.trouble = news->fault;
    peers_end(false, s.trouble.text);
    fail();
}

static void on_peers(enum peers_event event, struct peers_news *news)
{
    switch (event) {
    case PEERS_START:
        begin_agree(s.in, news);
        post_job(JEV_STARTED);
        break;
    case PEERS_END:
        on_end(news);
        break;
    case PEERS_FAULT:
        on_fault(news);
        break;
    case PEERS_GONE:
        if (!s.failing && !s.stopped && s.state == JOB_RUNNING)
            mind_early_exit();
        break;
    case PEERS_VERDICT:
        s.given = TAKE(news);
        post_job(JEV_JUDGED);
        break;
    case PEERS_REPORTED:
        post_job(JEV_JUDGED);
        break;
    }
    peers_news_free(news);
}

void supervise_handle(const struct event *event)
{
    switch (event->kind) {
    case EV_REAPED:
        on_reaped(event);
        break;
    case EV_EOF:
        (void)task_event(event->target, REV_EOF);
        s.look = true;
        break;
    case EV_SIGNAL:
        on_signal(event->value);
        break;
    case EV_JOB:
        job_event((enum job_event)event->value);
        break;
    case EV_PEERS:
        on_peers((enum peers_event)event->value, event->target);
        break;
    case EV_EARLY:
        on_early_exit();
        break;
    case EV_LATE:
        on_late_step(event->target);
        break;
    }
}

/* What is for once after many events: a crowd of strays ends together. */
void supervise_settled(void)
{
    if (TAKE(s.look))
        look_if_clear();
    if (s.mux)
        logmux_flush(s.mux);
}

/* ---- the whole ----------------------------------------------------------------------------- */

int supervise_open(const struct supervise_spec *spec)
{
    int rc;

    s.spec = *spec;
    s.in = spec->in;
    rc = uv_timer_init(spec->loop, &s.grace);
    if (!rc)
        rc = uv_timer_init(spec->loop, &s.early);
    if (!rc)
        rc = uv_timer_init(spec->loop, &s.limit);
    return rc;
}

static void begin_job(void)
{
    begin_say_start(s.in);
    memory_open(&s.memory, s.in->settings.cgroup_root);
    crew_init(&s.crew, s.in, s.output, s.spec.mark, s.mux);
    s.begun = true;
    if (peers_wanted(s.in)) {
        s.many = true;
        peers_open(s.spec.loop, s.in);
    }
    if (s.stop_asked) {
        if (s.many)
            peers_end(true, "a stop");
        s.stopped = true;
        post_job(JEV_STOP);
    } else {
        next_step();
    }
}

/* Two at once would move and overwrite each other's files. */
static void mind_another(void)
{
    if (!output_is_taken(s.output))
        return;
    s.taken.blame = BLAME_CONFIG;
    s.taken.text = mem_printf("another serried runs in %s", output_folder(s.output));
    s.refused = &s.taken;
}

void supervise_begin(void)
{
    const struct plan *plan = s.in->plan;

    s.mux = logmux_open(s.spec.loop, &s.in->settings, plan->world > 1 && !plan->has_launch);
    log_to(logmux_own_line, s.mux);
    begin_say_warnings(s.in);
    if (*s.in->job->host)
        s.output = output_new(s.in->base, s.in->job->host);
    s.refused = findings_first_fatal(&s.in->findings);
    if (!s.refused)
        mind_another();
    if (s.refused)
        post_job(JEV_REFUSED);
    else
        begin_job();
}

int supervise_status(void)
{
    return s.status;
}

void supervise_done(void)
{
    if (s.many)
        peers_done();
    peers_news_free(s.given);
    free(s.outcomes);
    crew_done(&s.crew);
    output_free(TAKE(s.output));
    free(TAKE(s.taken.text));
}

void supervise_abandon(const char *text)
{
    if (s.output)
        (void)output_failure(s.output, text, NULL);
    else
        (void)output_failure_early(s.in->base, text);
    kill_tree();
}
