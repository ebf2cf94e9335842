/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "core/agree.h"
#include "input/inputs.h"
#include "launchers/launcher.h"
#include "run/dial.h"
#include "run/peers_parts.h"

#define PAUSE_MS       100 /* between attempts; doubled each time */
#define PAUSE_MAX_MS   2000
#define ATTEMPT_MS     (2 * LINK_OPEN_MS) /* from the connection to the leader's welcome */
#define LEADER_LIMIT_S 10                 /* for a leader to come that can be told of a failure */

static struct roster_host *leader(void)
{
    return &peers.roster.hosts[0];
}

/* ---- the end --------------------------------------------------------------------------------- */

/* There is no leader to talk to, for good: this host judges alone. */
static void be_alone(void)
{
    peers.alone = true;
    dial_close(TAKE(peers.dial));
    link_close(TAKE(peers.link));
    if (peers.reported)
        peers_post(PEERS_REPORTED, NULL);
}

static void lose_leader(const char *reason)
{
    auto_free char *text = mem_printf("leader %s is lost: %s", peers.leader, reason);

    roster_reason(leader(), reason, true);
    (void)roster_step(leader(), ROSTER_GETS_LOST);
    if (peers_note_end(false, text))
        peers_post_end();
    else
        log_warning("%s", text);
    be_alone();
}

/* ---- the way to the leader ------------------------------------------------------------------- */

void peers_say_hello(struct link *l)
{
    const struct job *job = peers.in->job;
    const struct plan_host *self = launcher_self(peers.in->plan);
    const struct wire_message m = {.kind = WIRE_HELLO,
                                   .version = WIRE_VERSION,
                                   .release = (char *)PACKAGE_VERSION,
                                   .job = job->training_job ? job->training_job : (char *)"",
                                   .host = job->host,
                                   .ranks = self ? self->ranks : 0,
                                   .port = peers_own_port(),
                                   .body = peers.agreed};

    link_send(l, &m);
}

static void say_ready(void)
{
    const struct wire_message m = {.kind = WIRE_READY};

    link_send(peers.link, &m);
}

static void say_end(void)
{
    const struct wire_message m = {
        .kind = WIRE_END, .stopped = peers.stopped, .text = peers.end_text};

    link_send(peers.link, &m);
}

static void say_report(void)
{
    struct wire_message m = {.kind = WIRE_REPORT};

    m.body = TAKE(peers.report);
    link_send(peers.link, &m);
    wire_message_done(&m);
}

/* This attempt was none. */
static void try_again(const char *reason)
{
    roster_reason(leader(), reason, false);
    link_close(TAKE(peers.link));
    dial_next(peers.dial);
}

static void on_welcome(struct wire_message *m)
{
    (void)m;
    peers.welcome = true;
    (void)roster_step(leader(), ROSTER_COMES);
    roster_heard(leader(), clock_ms());
    dial_close(TAKE(peers.dial));
    (void)uv_timer_stop(&peers.limit);
    (void)uv_timer_stop(&peers.wait);
    log_info("met leader %s after %.1f s", peers.leader,
             (double)(clock_ms() - peers.open_ms) / 1000);
    if (peers.ended_own)
        say_end();
    else if (peers.ready)
        say_ready();
    if (peers.report)
        say_report();
}

static void on_refuse(struct wire_message *m)
{
    auto_free char *reason = mem_printf("refused us: %s", m->text);

    if (!m->final) {
        try_again(reason);
        return;
    }
    roster_reason(leader(), reason, true);
    peers_fault(BLAME_CONFIG, -EINVAL, "%s", m->text);
    be_alone();
}

static void on_start(struct wire_message *m)
{
    if (peers.started || peers.ended)
        return;
    peers.started = true;
    (void)uv_timer_stop(&peers.say);
    guests_close();
    peers_post_start(m, peers.link);
}

/* If this host has said so itself, whose word came first is for the verdict to say. */
static void on_end(struct wire_message *m)
{
    if (!peers_note_end(m->stopped, m->text))
        return;
    (void)uv_timer_stop(&peers.say);
    peers_post_end();
}

static void on_verdict(struct wire_message *m)
{
    if (!peers.reported) {
        lose_leader("it speaks out of turn");
        return;
    }
    peers.judged = true;
    peers_post(PEERS_VERDICT, m);
    link_close(TAKE(peers.link));
}

static void on_ping(struct wire_message *m)
{
    const struct wire_message pong = {
        .kind = WIRE_PONG, .time = m->time, .mine = (int64_t)clock_ms()};

    link_send(peers.link, &pong);
}

static void on_open(struct link *l)
{
    peers_say_hello(l);
}

static void on_message(struct link *l, struct wire_message *m)
{
    static const struct {
        void (*handle)(struct wire_message *m);
        bool welcome; /* after it, or before */
    } handlers[WIRE_KINDS] = {
        [WIRE_WELCOME] = {on_welcome, false},
          [WIRE_REFUSE] = {on_refuse,  false},
        [WIRE_START] = {on_start,   true },
          [WIRE_END] = {on_end,     true },
        [WIRE_VERDICT] = {on_verdict, true },
          [WIRE_PING] = {on_ping,    true },
    };

    (void)l;
    if (handlers[m->kind].handle && handlers[m->kind].welcome == peers.welcome)
        handlers[m->kind].handle(m);
    else if (peers.welcome)
        lose_leader("it speaks out of turn");
    else
        try_again("does not speak our protocol");
    wire_message_done(m);
}

static void on_closed(struct link *l, int why, enum tls_fault fault, const char *text)
{
    auto_free char *reason = peers_reason(why, fault, text);

    (void)l;
    peers.link = NULL;
    if (peers.welcome)
        lose_leader(reason);
    else
        try_again(reason);
}

/* ---- dialling -------------------------------------------------------------------------------- */

static void attempt(void *data, const struct sockaddr *address)
{
    static const struct link_calls calls = {on_open, on_message, on_closed};
    int why = 0;

    (void)data;
    if (!leader()->reason)
        roster_reason(leader(), "no answer", false); /* so far */
    peers.link = link_connect(peers.loop, peers.tls, address, &calls, NULL, &why);
    if (!peers.link)
        try_again(uv_strerror(why));
}

static void late(void *data)
{
    (void)data;
    try_again("no answer");
}

static void not_found(void *data)
{
    (void)data;
    roster_reason(leader(), "its name is not found", false);
}

void join_late(void)
{
    auto_free char *names = roster_text(&peers.roster, ROSTER_BIT(ROSTER_ABSENT), true, 1);

    peers_fault(BLAME_HOST, -ETIMEDOUT, "missing after %g s: leader %s",
                peers.in->settings.peer_meet_limit_s, names);
    be_alone();
}

/* ---- what others ask ------------------------------------------------------------------------- */

/* Somebody takes us for the leader, or the leader asks why we do not come. */
void join_hello(struct peer *g, struct wire_message *m)
{
    auto_free char *difference = agree_difference(peers.agreed, peers.own, m->body, m->host);

    if (!difference) {
        guests_answer(g, false, "not the leader");
        return;
    }
    guests_refuse(g, true, difference);
    peers_fault(BLAME_CONFIG, -EINVAL, "%s", difference);
}

/* ---- what this host says ----------------------------------------------------------------------
 */

void join_ready(void)
{
    if (peers.welcome && !peers.ended && !peers.alone)
        say_ready();
}

void join_end(void)
{
    (void)uv_timer_stop(&peers.say);
    if (peers.welcome && !peers.alone)
        say_end();
}

static void on_leader_limit(uv_timer_t *timer)
{
    (void)timer;
    be_alone();
}

/* A failure is worth a while of waiting for a leader that can tell the others; a stop is not. */
void join_report(void)
{
    if (peers.alone || (!peers.welcome && peers.stopped)) {
        be_alone();
    } else if (peers.welcome) {
        say_report();
    } else {
        log_info("waiting for leader %s, to tell it of the failure", peers.leader);
        peers_arm(&peers.wait, on_leader_limit, LEADER_LIMIT_S);
    }
}

void join_beat(uint64_t now_ms)
{
    double silence_s = peers.in->settings.peer_silence_s;
    auto_free char *text = NULL;

    if (!peers.welcome || !peers.link)
        return;
    roster_heard(leader(), link_heard_ms(peers.link));
    if (!roster_is_silent(leader(), now_ms, (uint64_t)(silence_s * 1000)))
        return;
    text = mem_printf("no sign of life for %g s", silence_s);
    lose_leader(text);
}

/* ---- the whole ------------------------------------------------------------------------------- */

void join_open(void)
{
    const struct dial_spec spec = {.name = peers.leader,
                                   .port = (unsigned)peers.in->settings.peer_port,
                                   .pause_ms = PAUSE_MS,
                                   .pause_max_ms = PAUSE_MAX_MS,
                                   .attempt_ms = ATTEMPT_MS,
                                   .attempt = attempt,
                                   .late = late,
                                   .not_found = not_found};

    guests_open();
    peers.dial = dial_open(peers.loop, &spec);
}

void join_close(void)
{
    dial_close(TAKE(peers.dial));
    link_close(TAKE(peers.link));
}
