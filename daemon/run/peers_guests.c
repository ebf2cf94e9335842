/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "input/inputs.h"
#include "run/listen.h"
#include "run/peers_parts.h"

#define GUESTS_MAX     64    /* beyond one for each host */
#define HELLO_LIMIT_MS 10000 /* for who knows the key to say something, or to go */

/* Kinds of those who come and do not belong here; the log has each once. */
enum stranger { STRANGER_RUBBISH, STRANGER_JOB, STRANGER_KEY, STRANGER_HELLO, STRANGER_CROWD };

/* ---- the list ------------------------------------------------------------------------------- */

static void list_add(struct peer *p)
{
    p->previous = peers.last_guest;
    if (peers.last_guest)
        peers.last_guest->next = p;
    else
        peers.guests = p;
    peers.last_guest = p;
    peers.n_guests++;
}

static void list_remove(struct peer *p)
{
    *(p->previous ? &p->previous->next : &peers.guests) = p->next;
    *(p->next ? &p->next->previous : &peers.last_guest) = p->previous;
    p->previous = p->next = NULL;
    peers.n_guests--;
}

static void forget(struct peer *p)
{
    if (p->host)
        p->host->data = NULL;
    else
        list_remove(p);
    free(p);
}

void peer_drop(struct peer *p)
{
    if (!p)
        return;
    link_close(p->link);
    forget(p);
}

void guests_admit(struct peer *g, struct roster_host *host)
{
    list_remove(g);
    g->host = host;
    host->data = g;
}

/* ---- who does not belong here -----------------------------------------------------------------
 */

static bool is_first(enum stranger kind)
{
    bool first = !(peers.warned & (1U << kind));

    peers.warned |= 1U << kind;
    return first;
}

/* What it claims is not proven: it is worth a word, no more. */
static void doubt_claim(const struct peer *g, const char *reason)
{
    struct roster_host *host = roster_find(&peers.roster, link_claims(g->link));

    if (host && peers.leads && host->state == ROSTER_ABSENT)
        roster_reason(host, reason, true);
}

static void mind_stranger(const struct peer *g, enum tls_fault fault)
{
    switch (fault) {
    case TLS_WRONG_JOB:
        doubt_claim(g, "wrong job");
        if (is_first(STRANGER_JOB))
            log_warning("%s wants to meet the hosts of another job: it is not let in", g->address);
        break;
    case TLS_WRONG_KEY:
        doubt_claim(g, "wrong key");
        if (is_first(STRANGER_KEY))
            log_warning("%s, which claims to be %s, has another key: it is not let in", g->address,
                        link_claims(g->link));
        break;
    case TLS_RUBBISH:
        if (is_first(STRANGER_RUBBISH))
            log_warning("%s does not speak our protocol: it is not let in", g->address);
        break;
    case TLS_FINE:
        break;
    }
}

void guests_answer(struct peer *g, bool final, const char *text)
{
    const struct wire_message m = {.kind = WIRE_REFUSE, .final = final, .text = (char *)text};

    g->leaving = true;
    link_send(g->link, &m);
    link_finish(g->link);
}

void guests_refuse(struct peer *g, bool final, const char *text)
{
    if (is_first(STRANGER_HELLO))
        log_warning("%s is not let in: %s", g->address, text);
    else
        log_debug("%s is not let in: %s", g->address, text);
    guests_answer(g, final, text);
}

/* ---- what a connection says -------------------------------------------------------------------
 */

static void on_open(struct link *l)
{
    struct peer *g = link_data(l);

    g->open = true;
}

static void on_message(struct link *l, struct wire_message *m)
{
    struct peer *p = link_data(l);

    if (p->host)
        lead_message(p, m);
    else if (p->leaving)
        ;
    else if (m->kind != WIRE_HELLO)
        guests_refuse(p, true, "hello comes first");
    else if (peers.leads)
        lead_hello(p, m);
    else
        join_hello(p, m);
    wire_message_done(m);
}

static void on_closed(struct link *l, int why, enum tls_fault fault, const char *text)
{
    struct peer *p = link_data(l);
    struct roster_host *host = p->host;

    if (!host && !p->leaving)
        mind_stranger(p, fault);
    forget(p);
    if (host)
        lead_closed(host, why, fault, text);
    peers_look_if_closed();
}

/* ---- coming and going -------------------------------------------------------------------------
 */

/* The oldest goes, first of those who have not shown that they know the key. */
static void make_room(void)
{
    struct peer *oldest = peers.guests;

    if (peers.n_guests < GUESTS_MAX + peers.in->job->hosts.n)
        return;
    if (is_first(STRANGER_CROWD))
        log_warning("%zu connections wait and do not say who they are: the oldest are closed",
                    peers.n_guests);
    while (oldest && oldest->open)
        oldest = oldest->next;
    peer_drop(oldest ? oldest : peers.guests);
}

static void on_connection(void *data, uv_stream_t *listener)
{
    static const struct link_calls calls = {on_open, on_message, on_closed};
    struct peer *g;
    char own[64];
    int why = 0;

    (void)data;
    make_room();
    g = mem_zero(sizeof(*g));
    g->link = link_accept(listener, peers.tls, &calls, g, &why);
    if (!g->link) {
        log_debug("a connection cannot be taken: %s", uv_strerror(why));
        free(g);
        return;
    }
    g->since_ms = clock_ms();
    link_addresses(g->link, own, g->address);
    list_add(g);
}

static void on_listening(void *data, size_t n, const struct err *err)
{
    (void)data;
    if (err->code && peers.leads) {
        peers.late = true;
        peers_fault(err->blame, err->code, "%s: %s", peers.own, err->text);
    } else if (err->code) {
        log_debug("%s", err->text);
    } else {
        log_debug("listening on %zu %s, port %ld", n, n == 1 ? "address" : "addresses",
                  peers.in->settings.peer_port);
    }
}

void guests_open(void)
{
    const struct listen_spec spec = {.interface = peers.in->job->interface,
                                     .own_name = peers.own,
                                     .port = (unsigned)peers.in->settings.peer_port,
                                     .on_connection = on_connection,
                                     .on_open = on_listening};

    peers.listen = listen_open(peers.loop, &spec);
}

static void drop_guests(bool leaving_too)
{
    for (struct peer *g = peers.guests, *next; g; g = next) {
        next = g->next;
        if (leaving_too || !g->leaving)
            peer_drop(g);
    }
}

void guests_close(void)
{
    listen_close(TAKE(peers.listen));
    drop_guests(false);
}

void guests_drop(void)
{
    drop_guests(true);
}

void guests_sweep(uint64_t now_ms)
{
    for (struct peer *g = peers.guests, *next; g; g = next) {
        next = g->next;
        if (now_ms - g->since_ms > HELLO_LIMIT_MS)
            peer_drop(g);
    }
}
