/* SPDX-License-Identifier: Apache-2.0
 *
 * emulation_parts - what the files of an emulation share: its state, and who starts and ends hosts.
 *
 * emulation.c opens, runs and closes it; troubles.c has its faults. */
#ifndef EMULATOR_EMULATION_PARTS_H
#define EMULATOR_EMULATION_PARTS_H
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

#include "emulator/emulation.h"

#define EMULATION_SIGNALS 3 /* that stop it */

enum host_state { HOST_WAITING, HOST_RUNNING, HOST_ENDED };

struct emulated {
    enum host_state state;
    bool held;   /* by a fault: late-start, no-start */
    bool killed; /* by a fault, or by the user's second Ctrl-C */
    bool frozen;
    int status;
};

struct trouble { /* a fault that comes later */
    uv_timer_t timer;
    struct emulation *emulation;
    const struct fault *fault;
    bool pending;
};

struct emulation {
    const struct emulation_spec *spec;
    uv_loop_t loop;
    uv_signal_t signals[EMULATION_SIGNALS];
    struct rack *rack;
    struct control *control;
    struct logs *logs;
    struct emulated *hosts;
    size_t n;
    struct trouble *troubles; /* one for each of spec->faults */
    bool stopping;
    bool over;
    char *broken; /* what the rack has said at its end */
};

/* Starts what starts at once; the rest comes by its timer. */
void troubles_begin(struct emulation *e);
/* One that was asked for while the job runs. */
void troubles_make(struct emulation *e, const struct fault *fault);
/* SIGKILL to everything of the hosts that run. */
void troubles_kill_all(struct emulation *e);
/* Ends the loop when no daemon runs and none will. */
void troubles_look_for_end(struct emulation *e);
#endif
