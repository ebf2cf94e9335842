/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "run/events.h"

#include <stdlib.h>

#include "base/mem.h"

static struct {
    uv_prepare_t drain;
    void (*handle)(const struct event *event);
    void (*settled)(void);
    struct event *queue;
    size_t n, cap;
} events;

static void on_drain(uv_prepare_t *drain)
{
    (void)drain;
    while (events.n) { /* again if settled() has posted: the loop is about to wait */
        for (size_t i = 0; i < events.n; i++) {
            struct event event = events.queue[i]; /* the handler may post, which moves the queue */

            events.handle(&event);
        }
        events.n = 0;
        events.settled();
    }
}

int events_open(uv_loop_t *loop, void (*handle)(const struct event *event), void (*settled)(void))
{
    int rc = uv_prepare_init(loop, &events.drain);

    events.handle = handle;
    events.settled = settled;
    return rc ? rc : uv_prepare_start(&events.drain, on_drain);
}

void events_post(struct event event)
{
    if (events.n == events.cap) {
        events.cap = events.cap ? events.cap * 2 : 64;
        events.queue = mem_grow(events.queue, events.cap, sizeof(*events.queue));
    }
    events.queue[events.n++] = event;
}

static void on_closed(uv_handle_t *handle)
{
    (void)handle;
    free(events.queue);
    events.queue = NULL;
    events.n = events.cap = 0;
}

void events_close(void)
{
    uv_close((uv_handle_t *)&events.drain, on_closed);
}
