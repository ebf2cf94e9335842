/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "run/peers.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "core/agree.h"
#include "input/inputs.h"
#include "run/events.h"
#include "run/listen.h"
#include "run/lookup.h"
#include "run/peers_parts.h"

#define SAY_FIRST_S   2.0   /* the first line of waiting */
#define SAY_S         5.0   /* the next ones, if they say something new */
#define SAY_AGAIN_MS  30000 /* ... or the same */
#define NAMES_MAX     8     /* in one line */
#define CLOSE_LIMIT_S 2.0   /* for good-byes */
#define BEATS_MIN     3     /* in the time after which a host counts as silent */

struct peers peers;

/* ---- news ----------------------------------------------------------------------------------- */

void peers_news_free(struct peers_news *news)
{
    if (!news)
        return;
    wire_message_done(&news->message);
    free(news);
}

static void post(enum peers_event event, struct peers_news *news)
{
    if (peers.closing || (peers.posted & (1U << event))) {
        peers_news_free(news);
        return;
    }
    peers.posted |= 1U << event;
    events_post((struct event){.kind = EV_PEERS, .value = (int)event, .target = news});
}

static struct peers_news *new_news(struct wire_message *m)
{
    struct peers_news *news = mem_zero(sizeof(*news));

    if (m) {
        news->message = *m;
        *m = (struct wire_message){0};
    }
    return news;
}

void peers_post(enum peers_event event, struct wire_message *m)
{
    post(event, new_news(m));
}

void peers_post_start(struct wire_message *m, const struct link *l)
{
    struct peers_news *news = new_news(m);
    char own[64], other[64];

    link_addresses(l, own, other);
    listen_interface_of(own, news->interface, sizeof(news->interface));
    post(PEERS_START, news);
}

void peers_post_end(void)
{
    struct wire_message m = {
        .kind = WIRE_END, .stopped = peers.stopped, .text = mem_dup(peers.end_text)};

    peers_post(PEERS_END, &m);
}

void peers_fault(enum err_blame blame, int code, const char *format, ...)
{
    struct peers_news *news = new_news(NULL);
    auto_free char *text = NULL;
    va_list args;

    va_start(args, format);
    text = mem_vprintf(format, args);
    va_end(args);
    (void)err_set(&news->fault, blame, code, "%s", text);
    (void)uv_timer_stop(&peers.limit);
    (void)uv_timer_stop(&peers.say);
    doubts_close();
    if (peers.ended) /* for a reason of its own */
        peers_news_free(news);
    else
        post(PEERS_FAULT, news);
}

bool peers_note_end(bool stopped, const char *text)
{
    if (peers.ended)
        return false;
    peers.ended = true;
    peers.stopped = stopped;
    peers.end_text = mem_dup(text);
    return true;
}

unsigned peers_own_port(void)
{
    return peers.in->job->is_leader ? peers.in->job->facts.master_port : 0;
}

/* ---- words ---------------------------------------------------------------------------------- */

char *peers_reason(int why, enum tls_fault fault, const char *text)
{
    static const char *const faults[] = {[TLS_WRONG_JOB] = "wrong job",
                                         [TLS_WRONG_KEY] = "wrong key",
                                         [TLS_RUBBISH] = "does not speak our protocol"};
    static const struct {
        int why;
        const char *text;
    } reasons[] = {
        {-ECONNREFUSED, "connection refused"                 },
        {-ETIMEDOUT,    "no answer"                          },
        {-EHOSTUNREACH, "no answer: no route to host"        },
        {-ENETUNREACH,  "no answer: network is unreachable"  },
        {-ECONNRESET,   "connection closed"                  },
        {-EPIPE,        "connection closed"                  },
        {UV_EOF,        "connection closed"                  },
        {-ENOBUFS,      "it does not read what is sent to it"},
    };
    char words[128];

    if (why == -EPROTO && fault != TLS_FINE)
        return mem_dup(faults[fault]);
    for (size_t i = 0; i < LENGTH(reasons); i++)
        if (reasons[i].why == why)
            return mem_dup(reasons[i].text);
    (void)uv_strerror_r(why, words, sizeof(words));
    return mem_dup(text && *text ? text : words);
}

/* A line of waiting, unless it says what was said a short while ago. */
static void say(const char *line)
{
    uint64_t now_ms = clock_ms();

    if (peers.said && strcmp(peers.said, line) == 0 && now_ms - peers.said_ms < SAY_AGAIN_MS)
        return;
    log_info("%s", line);
    free(peers.said);
    peers.said = mem_dup(line);
    peers.said_ms = now_ms;
}

static void say_as_leader(void)
{
    unsigned states = ROSTER_BIT(peers.met ? ROSTER_HERE : ROSTER_ABSENT);
    size_t missing = roster_count(&peers.roster, states);
    auto_free char *names = roster_text(&peers.roster, states, !peers.met, NAMES_MAX);
    auto_free char *line = mem_printf("waiting for %zu of %zu hosts%s: %s", missing,
                                      peers.roster.n + 1, peers.met ? " to be ready" : "", names);

    if (missing && (!peers.met || peers.ready))
        say(line);
}

static void say_to_join(void)
{
    auto_free char *names = roster_text(&peers.roster, ROSTER_BIT(ROSTER_ABSENT), true, 1);
    auto_free char *line = mem_printf("waiting for leader %s", names);

    if (!peers.welcome)
        say(line);
    else if (peers.ready)
        say("waiting for the other hosts");
}

static void on_say(uv_timer_t *timer)
{
    (void)timer;
    if (peers.leads)
        say_as_leader();
    else
        say_to_join();
}

/* ---- time ----------------------------------------------------------------------------------- */

/* From now, not from when the loop last looked at its clock. */
void peers_arm(uv_timer_t *timer, uv_timer_cb on_time, double seconds)
{
    uv_update_time(peers.loop);
    (void)uv_timer_start(timer, on_time, (uint64_t)(seconds * 1000), 0);
}

/* Short enough that one beat that comes late is not taken for silence. */
static uint64_t beat_ms(void)
{
    double seconds = peers.in->settings.peer_heartbeat_s;
    double most = peers.in->settings.peer_silence_s / BEATS_MIN;

    return (uint64_t)((seconds < most ? seconds : most) * 1000);
}

/* Whoever was itself frozen, or busy, has heard nobody meanwhile: that is not the others' silence.
 */
static void on_beat(uv_timer_t *timer)
{
    uint64_t now_ms = clock_ms();

    (void)timer;
    if (now_ms > peers.due_ms)
        roster_slept(&peers.roster, now_ms - peers.due_ms, now_ms);
    peers.due_ms = now_ms + beat_ms();
    guests_sweep(now_ms);
    if (peers.leads)
        lead_beat(now_ms);
    else
        join_beat(now_ms);
}

static void on_meet_limit(uv_timer_t *timer)
{
    (void)timer;
    if (peers.leads)
        lead_late();
    else
        join_late();
}

static void start_timers(void)
{
    (void)uv_timer_init(peers.loop, &peers.beat);
    (void)uv_timer_init(peers.loop, &peers.limit);
    (void)uv_timer_init(peers.loop, &peers.say);
    (void)uv_timer_init(peers.loop, &peers.wait);
    uv_update_time(peers.loop);
    peers.open_ms = clock_ms();
    peers.due_ms = peers.open_ms + beat_ms();
    (void)uv_timer_start(&peers.beat, on_beat, beat_ms(), beat_ms());
    (void)uv_timer_start(&peers.say, on_say, (uint64_t)(SAY_FIRST_S * 1000),
                         (uint64_t)(SAY_S * 1000));
    peers_arm(&peers.limit, on_meet_limit, peers.in->settings.peer_meet_limit_s);
}

/* ---- what the supervisor sees ---------------------------------------------------------------- */

bool peers_wanted(const struct inputs *in)
{
    return in->job->hosts.n > 1 && strv_has(&in->job->hosts, in->job->host);
}

bool peers_are_busy(void)
{
    return lookup_is_busy();
}

static void call_the_roll(void)
{
    const struct strv *hosts = &peers.in->job->hosts;

    if (!peers.leads) {
        roster_add(&peers.roster, peers.leader);
        return;
    }
    for (size_t i = 0; i < hosts->n; i++)
        if (strcmp(hosts->v[i], peers.own) != 0)
            roster_add(&peers.roster, hosts->v[i]);
}

/* False, with a fault posted: there is no key to meet with. */
static bool open_key(void)
{
    struct err err = ERR_INIT;

    if (peerkey_get(&peers.in->settings, peers.in->job, &peers.key, &err) < 0) {
        peers_fault(err.blame, err.code, "%s", err.text);
        return false;
    }
    if (peers.key.derived)
        log_warning("no key was given (peer.key_file): the hosts' connection is kept apart from "
                    "other jobs', but not secret");
    peers.tls = tls_context_new(&peers.key, peers.own);
    if (!peers.tls)
        peers_fault(BLAME_PLATFORM, -ENOTSUP, "OpenSSL cannot set up TLS 1.3 with a shared key");
    return peers.tls;
}

void peers_open(uv_loop_t *loop, const struct inputs *in)
{
    peers = (struct peers){.loop = loop, .in = in, .own = in->job->host};
    peers.leader = job_meeting_host(in->job);
    peers.leads = strcmp(peers.own, peers.leader) == 0;
    peers.agreed = agree_make(in->job, in->plan);
    call_the_roll();
    start_timers();
    if (!open_key()) {
        peers.alone = peers.late = true;
        return;
    }
    if (peers.leads)
        lead_open();
    else
        join_open();
}

void peers_ready(void)
{
    peers.ready = true;
    if (peers.leads)
        lead_look();
    else
        join_ready();
}

void peers_end(bool stopped, const char *text)
{
    if (peers.leads) {
        lead_end(stopped, text, NULL, true);
    } else if (peers_note_end(stopped, text)) {
        peers.ended_own = true;
        join_end();
    }
}

void peers_report(cJSON *report)
{
    if (peers.reported) {
        cJSON_Delete(report);
        return;
    }
    peers.reported = true;
    if (peers.leads) {
        cJSON_Delete(report); /* the leader has its own outcomes, with all evidence */
        lead_report();
    } else {
        peers.report = report;
        join_report();
    }
}

struct outcome *peers_outcomes(size_t *n)
{
    return roster_outcomes(&peers.roster, !peers.leads, n);
}

void peers_verdict(struct wire_message *m)
{
    if (peers.leads)
        lead_verdict(m);
}

char *peers_list(bool reported)
{
    unsigned states = reported ? ROSTER_BIT(ROSTER_REPORTED) : ROSTER_AT_WORK;

    return roster_text(&peers.roster, peers.leads ? states : 0, false, NAMES_MAX);
}

bool peers_early_final(void)
{
    return roster_early_final(&peers.roster);
}

/* Nobody reads our last words any more. */
static void on_close_limit(uv_timer_t *timer)
{
    (void)timer;
    guests_drop();
    lead_close();
    peers_look_if_closed();
}

void peers_look_if_closed(void)
{
    bool left = peers.guests;

    for (size_t i = 0; peers.leads && i < peers.roster.n; i++)
        left |= peers.roster.hosts[i].data != NULL;
    if (peers.closing && !left && !uv_is_closing((uv_handle_t *)&peers.limit))
        uv_close((uv_handle_t *)&peers.limit, NULL);
}

void peers_close(void)
{
    peers.closing = true;
    doubts_close();
    guests_close();
    join_close();
    if (!peers.judged)
        lead_close();
    uv_close((uv_handle_t *)&peers.beat, NULL);
    uv_close((uv_handle_t *)&peers.say, NULL);
    uv_close((uv_handle_t *)&peers.wait, NULL);
    peers_arm(&peers.limit, on_close_limit, CLOSE_LIMIT_S);
    peers_look_if_closed();
}

void peers_done(void)
{
    roster_done(&peers.roster);
    cJSON_Delete(TAKE(peers.agreed));
    cJSON_Delete(TAKE(peers.report));
    tls_context_free(TAKE(peers.tls));
    peerkey_done(&peers.key);
    free(TAKE(peers.end_text));
    free(TAKE(peers.said));
}
