/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "run/dial.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "run/lookup.h"

#define ADDRESSES_MAX 16

enum dial_state { DIAL_PAUSE, DIAL_LOOKUP, DIAL_NEXT, DIAL_ATTEMPT };

struct dial {
    struct dial_spec spec;
    uv_loop_t *loop;
    uv_timer_t timer; /* what it means depends on the state */
    enum dial_state state;
    struct lookup *lookup;
    struct sockaddr_storage addresses[ADDRESSES_MAX];
    size_t n, at;
    uint32_t pause_ms;
};

static void on_timer(uv_timer_t *timer);

static void enter(struct dial *d, enum dial_state state, uint32_t ms)
{
    d->state = state;
    uv_update_time(d->loop);
    (void)uv_timer_start(&d->timer, on_timer, ms, 0);
}

static void pause_round(struct dial *d)
{
    uint32_t ms = d->pause_ms;

    d->pause_ms = ms > d->spec.pause_max_ms / 2 ? d->spec.pause_max_ms : ms * 2;
    enter(d, DIAL_PAUSE, ms);
}

static void keep_address(struct dial *d, const struct addrinfo *a)
{
    struct sockaddr_storage *to = &d->addresses[d->n];
    uint16_t port = htons((uint16_t)d->spec.port);

    if (d->n == ADDRESSES_MAX || (a->ai_family != AF_INET && a->ai_family != AF_INET6))
        return;
    memcpy(to, a->ai_addr, a->ai_addrlen);
    if (a->ai_family == AF_INET)
        ((struct sockaddr_in *)to)->sin_port = port;
    else
        ((struct sockaddr_in6 *)to)->sin6_port = port;
    d->n++;
}

static void on_found(void *data, int status, const struct addrinfo *found)
{
    struct dial *d = data;

    d->lookup = NULL;
    d->n = d->at = 0;
    for (const struct addrinfo *a = status < 0 ? NULL : found; a; a = a->ai_next)
        keep_address(d, a);
    if (d->n) {
        enter(d, DIAL_NEXT, 0);
        return;
    }
    pause_round(d);
    d->spec.not_found(d->spec.data);
}

static void look_up(struct dial *d)
{
    int why;

    d->lookup = lookup_start(d->loop, d->spec.name, on_found, d, &why);
    if (d->lookup) {
        enter(d, DIAL_LOOKUP, d->spec.attempt_ms);
        return;
    }
    pause_round(d);
    d->spec.not_found(d->spec.data);
}

static void attempt(struct dial *d)
{
    const struct sockaddr *address = (const struct sockaddr *)&d->addresses[d->at++];

    enter(d, DIAL_ATTEMPT, d->spec.attempt_ms);
    d->spec.attempt(d->spec.data, address);
}

static void on_timer(uv_timer_t *timer)
{
    struct dial *d = timer->data;

    switch (d->state) {
    case DIAL_PAUSE:
        look_up(d);
        break;
    case DIAL_LOOKUP: /* it may still come: no second one meanwhile */
        d->spec.not_found(d->spec.data);
        break;
    case DIAL_NEXT:
        attempt(d);
        break;
    case DIAL_ATTEMPT:
        d->spec.late(d->spec.data);
        break;
    }
}

struct dial *dial_open(uv_loop_t *loop, const struct dial_spec *spec)
{
    struct dial *d = mem_zero(sizeof(*d));

    d->spec = *spec;
    d->spec.name = mem_dup(spec->name);
    d->loop = loop;
    d->pause_ms = spec->pause_ms;
    (void)uv_timer_init(loop, &d->timer);
    d->timer.data = d;
    enter(d, DIAL_PAUSE, spec->first_ms);
    return d;
}

void dial_next(struct dial *d)
{
    if (d->state != DIAL_ATTEMPT)
        return;
    if (d->at < d->n)
        enter(d, DIAL_NEXT, 0);
    else
        pause_round(d);
}

static void on_closed(uv_handle_t *handle)
{
    struct dial *d = handle->data;

    free((char *)d->spec.name);
    free(d);
}

void dial_close(struct dial *d)
{
    if (!d)
        return;
    lookup_leave(d->lookup);
    uv_close((uv_handle_t *)&d->timer, on_closed);
}
