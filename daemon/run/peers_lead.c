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
#include "core/testimony.h"
#include "input/inputs.h"
#include "launchers/launcher.h"
#include "run/peers_parts.h"

#define NAMES_MAX      8  /* in the sentence about hosts that are missing */
#define REPORT_LIMIT_S 30 /* beyond the grace that ranks have to end */
#define LATE_LIMIT_S   5  /* for hosts that come after a failure, to be told of it */

static void send_all(const struct wire_message *m, const struct roster_host *but)
{
    auto_buf struct buf frame = {0};

    if (wire_encode(m, &frame) < 0)
        return;
    for (size_t i = 0; i < peers.roster.n; i++) {
        const struct roster_host *host = &peers.roster.hosts[i];
        const struct peer *p = host->data;

        if (p && p->host != but)
            link_send_frame(p->link, &frame);
    }
}

/* ---- the end --------------------------------------------------------------------------------- */

static void lose(struct roster_host *host, const char *reason)
{
    auto_free char *text = mem_printf("host %s is lost: %s", host->name, reason);

    peer_drop(host->data);
    if (!roster_step(host, ROSTER_GETS_LOST)) /* it has reported: its part is done */
        return;
    roster_reason(host, reason, true);
    if (peers.ended)
        log_warning("%s", text);
    lead_end(false, text, host, false);
    lead_look();
}

static void on_report_limit(uv_timer_t *timer)
{
    (void)timer;
    for (size_t i = 0; i < peers.roster.n; i++)
        if (ROSTER_AT_WORK & ROSTER_BIT(peers.roster.hosts[i].state))
            lose(&peers.roster.hosts[i], "has not reported");
}

static void arm_report_limit(void)
{
    const struct settings *settings = &peers.in->settings;
    double grace_s = peers.stopped ? settings->stop_grace_s : settings->stop_failure_grace_s;

    peers_arm(&peers.wait, on_report_limit, grace_s + REPORT_LIMIT_S);
}

static void on_late_limit(uv_timer_t *timer)
{
    (void)timer;
    peers.late = true;
    lead_look();
}

/* A host that starts a little later would else wait for a leader that has come and gone. Whoever
 * asks for a stop asks all hosts, and does not wait. */
static void arm_late_limit(void)
{
    double left_s =
        peers.in->settings.peer_meet_limit_s - (double)(clock_ms() - peers.open_ms) / 1000;

    (void)uv_timer_stop(&peers.limit);
    peers.late |= peers.stopped || left_s <= 0;
    if (!peers.met && !peers.late)
        peers_arm(&peers.limit, on_late_limit, left_s < LATE_LIMIT_S ? left_s : LATE_LIMIT_S);
}

/* May another host still come? Not one that was turned away. */
static bool may_come(void)
{
    for (size_t i = 0; !peers.late && i < peers.roster.n; i++)
        if (peers.roster.hosts[i].state == ROSTER_ABSENT && !peers.roster.hosts[i].firm)
            return true;
    return false;
}

void lead_end(bool stopped, const char *text, const struct roster_host *from, bool here)
{
    const struct wire_message m = {.kind = WIRE_END, .stopped = stopped, .text = (char *)text};

    if (!peers_note_end(stopped, text))
        return;
    (void)uv_timer_stop(&peers.say);
    doubts_close();
    send_all(&m, from);
    if (!here)
        peers_post_end();
    arm_report_limit();
    arm_late_limit();
}

/* ---- the start ------------------------------------------------------------------------------- */

static void add_host(cJSON *list, unsigned ranks, unsigned port)
{
    (void)cJSON_AddItemToArray(list, json_new_integer(ranks));
    (void)cJSON_AddItemToArray(list, json_new_integer(port));
}

/* Short: a thousand hosts each get that of a thousand. */
static cJSON *list_hosts(void)
{
    const struct plan_host *self = launcher_self(peers.in->plan);
    cJSON *list = mem_check(cJSON_CreateArray());
    auto_strv struct strv names = {0};

    job_sorted_hosts(peers.in->job, &names);
    for (size_t i = 0; i < names.n; i++) {
        const struct roster_host *host = roster_find(&peers.roster, names.v[i]);

        if (host)
            add_host(list, host->ranks, host->port);
        else
            add_host(list, self ? self->ranks : 0, peers_own_port());
    }
    return list;
}

static void start(void)
{
    const struct peer *some = peers.roster.hosts[0].data;
    struct wire_message m = {.kind = WIRE_START, .body = list_hosts()};

    peers.started = true;
    (void)uv_timer_stop(&peers.say);
    guests_close();
    send_all(&m, NULL);
    peers_post_start(&m, some->link);
}

static void have_met(void)
{
    peers.met = true;
    (void)uv_timer_stop(&peers.limit);
    doubts_close();
    log_info("%zu hosts have met after %.1f s", peers.roster.n + 1,
             (double)(clock_ms() - peers.open_ms) / 1000);
}

void lead_look(void)
{
    size_t n_ready = roster_count(&peers.roster, ROSTER_BIT(ROSTER_READY));

    if (peers.closing)
        return;
    if (!peers.met && !peers.ended && !roster_count(&peers.roster, ROSTER_BIT(ROSTER_ABSENT)))
        have_met();
    if (peers.met && peers.ready && !peers.started && !peers.ended && n_ready == peers.roster.n)
        start();
    if (peers.reported && !roster_count(&peers.roster, ROSTER_AT_WORK) && !may_come()) {
        guests_close(); /* who comes now comes too late to be heard */
        peers_post(PEERS_REPORTED, NULL);
    }
}

void lead_report(void)
{
    auto_free char *absent =
        roster_text(&peers.roster, ROSTER_BIT(ROSTER_ABSENT), false, NAMES_MAX);

    if (may_come())
        log_info("waiting for %s, to tell of the failure", absent);
    lead_look();
}

/* ---- who comes ------------------------------------------------------------------------------- */

struct hello {
    const struct peer *guest;
    const struct wire_message *m;
    const struct roster_host *host; /* NULL: not one of the others */
};

static const char *own_job(void)
{
    return peers.in->job->training_job ? peers.in->job->training_job : "";
}

static char *of_another_job(const struct hello *h)
{
    if (strcmp(h->m->job, own_job()) == 0)
        return NULL;
    return mem_printf("%s belongs to the job %s, not to %s", h->m->host, h->m->job, own_job());
}

static char *is_unknown(const struct hello *h)
{
    if (strcmp(h->m->host, peers.own) == 0)
        return mem_printf("%s is the name of the leader itself", h->m->host);
    return h->host ? NULL : mem_printf("%s is not a host of this job", h->m->host);
}

static char *has_two_names(const struct hello *h)
{
    const char *claims = link_claims(h->guest->link);

    if (strcmp(claims, h->m->host) == 0)
        return NULL;
    return mem_printf("it calls itself %s and %s", claims, h->m->host);
}

static char *has_come_before(const struct hello *h)
{
    if (h->host->state == ROSTER_ABSENT)
        return NULL;
    return mem_printf(h->host->data ? "%s is here already" : "%s was here before", h->m->host);
}

static char *speaks_otherwise(const struct hello *h)
{
    if (h->m->version == WIRE_VERSION)
        return NULL;
    return mem_printf("%s speaks version %ld of the hosts' protocol, %s version %d: all hosts need "
                      "the same serried",
                      h->m->host, h->m->version, peers.own, WIRE_VERSION);
}

static char *sees_otherwise(const struct hello *h)
{
    return agree_difference(peers.agreed, peers.own, h->m->body, h->m->host);
}

/* Why it cannot come in, to free(), or NULL. Each may rely on the ones before. */
static char *objection(const struct hello *h, bool *fault)
{
    static const struct {
        char *(*ask)(const struct hello *h);
        bool fault; /* the job cannot be, since a host of it is so */
    } objections[] = {
        {of_another_job,   false},
        {is_unknown,       false},
        {has_two_names,    false},
        {has_come_before,  false},
        {speaks_otherwise, true },
        {sees_otherwise,   true },
    };

    for (size_t i = 0; i < LENGTH(objections); i++) {
        char *text = objections[i].ask(h);

        *fault = objections[i].fault;
        if (text)
            return text;
    }
    return NULL;
}

static void mind_release(const struct wire_message *m)
{
    if (peers.mixed || strcmp(m->release, PACKAGE_VERSION) == 0)
        return;
    peers.mixed = true;
    log_warning("%s runs serried %s, %s %s: the hosts can work together, but better are the same",
                m->host, m->release, peers.own, PACKAGE_VERSION);
}

static void ping(const struct roster_host *host, uint64_t now_ms)
{
    const struct peer *p = host->data;
    const struct wire_message m = {.kind = WIRE_PING, .time = (int64_t)now_ms};

    link_send(p->link, &m);
}

static void admit(struct peer *g, struct roster_host *host, const struct wire_message *m)
{
    const struct wire_message welcome = {.kind = WIRE_WELCOME};
    const struct wire_message end = {
        .kind = WIRE_END, .stopped = peers.stopped, .text = peers.end_text};
    uint64_t now_ms = clock_ms();

    guests_admit(g, host);
    (void)roster_step(host, ROSTER_COMES);
    host->ranks = (unsigned)m->ranks;
    host->port = (unsigned)m->port;
    roster_heard(host, now_ms);
    doubts_end(host);
    log_debug("%s has come from %s", host->name, g->address);
    mind_release(m);
    link_send(g->link, &welcome);
    ping(host, now_ms);
    if (peers.ended) {
        link_send(g->link, &end);
        arm_report_limit();
    }
    lead_look();
}

void lead_hello(struct peer *g, struct wire_message *m)
{
    struct roster_host *host = roster_find(&peers.roster, m->host);
    const struct hello hello = {g, m, host};
    bool fault = false;
    auto_free char *text = objection(&hello, &fault);

    if (!text) {
        admit(g, host, m);
        return;
    }
    guests_refuse(g, true, text);
    if (!fault)
        return;
    roster_reason(host, text, true);
    peers_fault(BLAME_CONFIG, -EINVAL, "%s", text);
}

/* ---- what a host says ------------------------------------------------------------------------ */

static void on_ready(struct roster_host *host, struct wire_message *m)
{
    (void)m;
    (void)roster_step(host, ROSTER_GETS_READY);
    lead_look();
}

static void on_end(struct roster_host *host, struct wire_message *m)
{
    lead_end(m->stopped, m->text, host, false);
}

static void on_report(struct roster_host *host, struct wire_message *m)
{
    struct err err = ERR_INIT;
    struct testimony *told;

    if (!(ROSTER_AT_WORK & ROSTER_BIT(host->state)))
        return;
    told = testimony_read(m->body, host->name, host->ahead_ms, &err);
    if (!told) {
        log_debug("%s: %s", host->name, err.text);
        lose(host, "its report cannot be read");
        return;
    }
    host->testimony = told;
    (void)roster_step(host, ROSTER_REPORTS);
    peers_post(PEERS_GONE, NULL);
    lead_look();
}

static void on_pong(struct roster_host *host, struct wire_message *m)
{
    roster_pong(host, m->time, m->mine, (int64_t)clock_ms());
}

void lead_message(struct peer *p, struct wire_message *m)
{
    static void (*const handlers[WIRE_KINDS])(struct roster_host * host,
                                              struct wire_message * m) = {
        [WIRE_READY] = on_ready,
        [WIRE_END] = on_end,
        [WIRE_REPORT] = on_report,
        [WIRE_PONG] = on_pong,
    };

    if (handlers[m->kind])
        handlers[m->kind](p->host, m);
    else
        lose(p->host, "it speaks out of turn");
}

void lead_closed(struct roster_host *host, int why, enum tls_fault fault, const char *text)
{
    auto_free char *reason = peers_reason(why, fault, text);

    if (!peers.judged)
        lose(host, reason);
}

/* ---- time ------------------------------------------------------------------------------------ */

void lead_beat(uint64_t now_ms)
{
    double silence_s = peers.in->settings.peer_silence_s;

    for (size_t i = 0; i < peers.roster.n && !peers.judged; i++) {
        struct roster_host *host = &peers.roster.hosts[i];
        const struct peer *p = host->data;
        auto_free char *text = NULL;

        if (!p)
            continue;
        roster_heard(host, link_heard_ms(p->link));
        if (!roster_is_silent(host, now_ms, (uint64_t)(silence_s * 1000))) {
            ping(host, now_ms);
            continue;
        }
        text = mem_printf("no sign of life for %g s", silence_s);
        lose(host, text);
    }
}

void lead_late(void)
{
    auto_free char *names = roster_text(&peers.roster, ROSTER_BIT(ROSTER_ABSENT), true, NAMES_MAX);

    peers_fault(BLAME_HOST, -ETIMEDOUT, "missing after %g s: %s",
                peers.in->settings.peer_meet_limit_s, names);
}

/* ---- the whole ------------------------------------------------------------------------------- */

void lead_open(void)
{
    guests_open();
    doubts_open();
}

void lead_verdict(const struct wire_message *m)
{
    peers.judged = true;
    send_all(m, NULL);
    for (size_t i = 0; i < peers.roster.n; i++) {
        const struct peer *p = peers.roster.hosts[i].data;

        if (p)
            link_finish(p->link);
    }
}

void lead_close(void)
{
    for (size_t i = 0; peers.leads && i < peers.roster.n; i++)
        peer_drop(peers.roster.hosts[i].data);
}
