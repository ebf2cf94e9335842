/* SPDX-License-Identifier: Apache-2.0
 *
 * events - what happened, queued: callbacks post, one place drains.
 *
 * A libuv callback translates and returns; the handler alone calls step functions, so that no step
 * runs inside another. The queue is drained before the loop waits. */
#ifndef RUN_EVENTS_H
#define RUN_EVENTS_H
#include <sys/types.h>
#include <uv.h>

enum event_kind {
    EV_REAPED, /* pid, value: wait status, extra: largest resident set in KiB */
    EV_EOF,    /* target: the task whose streams have both ended */
    EV_SIGNAL, /* value: signal number */
    EV_JOB,    /* value: enum job_event */
    EV_PEERS,  /* value: enum peers_event, target: struct peers_news */
    EV_EARLY,  /* some rank has been gone for the configured wait */
    EV_LATE    /* target: the step whose deadline has passed */
};
struct event {
    enum event_kind kind;
    void *target;
    pid_t pid;
    int value;
    long extra;
};

/* `handle` gets each event; `settled` is called when the queue is empty again. Both may post. */
int events_open(uv_loop_t *loop, void (*handle)(const struct event *event), void (*settled)(void));
void events_post(struct event event);
void events_close(void);
#endif
