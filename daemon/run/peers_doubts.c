/* SPDX-License-Identifier: Apache-2.0
 *
 * A host that does not come: is its name unknown, is nobody there, does it not run a daemon? For
 * words only; who comes is not asked any more. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "input/inputs.h"
#include "run/dial.h"
#include "run/peers_parts.h"

#define FIRST_MS   500 /* most have come by then */
#define EACH_MS    10  /* one after the other */
#define AGAIN_MS   3000
#define ATTEMPT_MS 5000

struct doubt {
    struct roster_host *host;
    struct dial *dial; /* NULL: not asked any more */
    struct link *link; /* under way */
};

static void learn(struct doubt *d, const char *reason)
{
    link_close(TAKE(d->link));
    roster_reason(d->host, reason, false);
    dial_next(d->dial);
}

/* As if it were the leader: one that takes itself for that says so, and how it differs. */
static void on_open(struct link *l)
{
    peers_say_hello(l);
}

static void on_message(struct link *l, struct wire_message *m)
{
    struct doubt *d = link_data(l);

    if (m->kind == WIRE_REFUSE && m->final)
        peers_fault(BLAME_CONFIG, -EINVAL, "%s", m->text); /* ends all doubts */
    else
        learn(d, "is up but has not come to the leader");
    wire_message_done(m);
}

static void on_closed(struct link *l, int why, enum tls_fault fault, const char *text)
{
    struct doubt *d = link_data(l);
    auto_free char *reason = peers_reason(why, fault, text);

    d->link = NULL;
    learn(d, reason);
}

static void attempt(void *data, const struct sockaddr *address)
{
    static const struct link_calls calls = {on_open, on_message, on_closed};
    struct doubt *d = data;
    int why = 0;

    if (!d->host->reason)
        roster_reason(d->host, "no answer", false); /* so far */
    d->link = link_connect(peers.loop, peers.tls, address, &calls, d, &why);
    if (!d->link)
        learn(d, uv_strerror(why));
}

static void late(void *data)
{
    learn(data, "no answer");
}

static void not_found(void *data)
{
    const struct doubt *d = data;

    roster_reason(d->host, "its name is not found", false);
}

void doubts_open(void)
{
    peers.doubts = mem_zero(peers.roster.n * sizeof(*peers.doubts));
    for (size_t i = 0; i < peers.roster.n; i++) {
        struct doubt *d = &peers.doubts[i];
        const struct dial_spec spec = {.name = peers.roster.hosts[i].name,
                                       .port = (unsigned)peers.in->settings.peer_port,
                                       .first_ms = FIRST_MS + (uint32_t)i * EACH_MS,
                                       .pause_ms = AGAIN_MS,
                                       .pause_max_ms = AGAIN_MS,
                                       .attempt_ms = ATTEMPT_MS,
                                       .attempt = attempt,
                                       .late = late,
                                       .not_found = not_found,
                                       .data = d};

        d->host = &peers.roster.hosts[i];
        d->dial = dial_open(peers.loop, &spec);
    }
}

static void end(struct doubt *d)
{
    link_close(TAKE(d->link));
    dial_close(TAKE(d->dial));
}

void doubts_end(const struct roster_host *host)
{
    if (peers.doubts)
        end(&peers.doubts[host - peers.roster.hosts]);
}

void doubts_close(void)
{
    for (size_t i = 0; peers.doubts && i < peers.roster.n; i++)
        end(&peers.doubts[i]);
    free(TAKE(peers.doubts));
}
