/* SPDX-License-Identifier: Apache-2.0
 *
 * supervise - runs the job through core/job_fsm: starts it, minds it, ends it, has it told; of a
 * job of several hosts together with run/peers.
 *
 * Gets events, steps the machines, carries out their answers. Its state is the process's own: one
 * job. Source: serried(8); field cases 26 to 33. */
#ifndef RUN_SUPERVISE_H
#define RUN_SUPERVISE_H
#include <sys/types.h>
#include <uv.h>

struct event;
struct inputs;

struct supervise_spec {
    uv_loop_t *loop;
    struct inputs *in;
    const char *mark;       /* of run/killtree */
    const pid_t *keeper;    /* is spared; 0: there is none */
    void (*on_ended)(void); /* from the loop: nothing more will happen, close what keeps it alive */
};

/* Before all others: from now on events can be handled. 0 or libuv's error. */
int supervise_open(const struct supervise_spec *spec);
/* The plan is there: starts the job, or refuses it where in->findings have a fatal one. All else
 * happens in the loop. */
void supervise_begin(void);
/* For events_open(). */
void supervise_handle(const struct event *event);
void supervise_settled(void);
/* The exit status of the job. */
int supervise_status(void);
/* After the loop's end. */
void supervise_done(void);
/* No memory, and the process is about to go: `text` becomes the failure file, all are killed. */
void supervise_abandon(const char *text);
#endif
