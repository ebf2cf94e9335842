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

struct knock;

struct doubt {
    struct roster_host *host;
    struct dial *dial;   /* NULL: not asked any more */
    struct knock *knock; /* under way */
};

/* A connection that is closed as soon as it is there. */
struct knock {
    uv_tcp_t tcp;
    uv_connect_t request;
    struct doubt *doubt; /* NULL: nobody waits for the answer */
};

static void on_knock_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void drop_knock(struct doubt *d)
{
    struct knock *k = TAKE(d->knock);

    if (!k)
        return;
    k->doubt = NULL;
    uv_close((uv_handle_t *)&k->tcp, on_knock_closed);
}

static void learn(struct doubt *d, int why)
{
    auto_free char *reason =
        why ? peers_reason(why, TLS_FINE, NULL) : mem_dup("is up but has not come to the leader");

    drop_knock(d);
    roster_reason(d->host, reason, false);
    dial_next(d->dial);
}

static void on_answer(uv_connect_t *request, int status)
{
    struct knock *k = request->data;

    if (k->doubt)
        learn(k->doubt, status);
}

static void attempt(void *data, const struct sockaddr *address)
{
    struct doubt *d = data;
    struct knock *k = mem_zero(sizeof(*k));
    int rc = uv_tcp_init(peers.loop, &k->tcp);

    if (rc) {
        free(k);
        learn(d, rc);
        return;
    }
    k->tcp.data = k->request.data = k;
    k->doubt = d;
    d->knock = k;
    rc = uv_tcp_connect(&k->request, &k->tcp, address, on_answer);
    if (rc)
        learn(d, rc);
}

static void late(void *data)
{
    learn(data, -ETIMEDOUT);
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
    drop_knock(d);
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
