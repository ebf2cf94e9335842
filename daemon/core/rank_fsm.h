/* SPDX-License-Identifier: Apache-2.0
 *
 * rank_fsm - the states of one rank (or step), and what the shell must do on each edge.
 *
 * A pure table. A pair without an edge changes nothing. States only go forward: a restart is a new
 * attempt with a new rank. */
#ifndef CORE_RANK_FSM_H
#define CORE_RANK_FSM_H

enum rank_state {
    RANK_PLANNED,
    RANK_RUNNING,
    RANK_STOPPING,
    RANK_KILLED,
    RANK_DRAINING,
    RANK_DONE,
    RANK_STATES
};
enum rank_event {
    REV_SPAWNED,
    REV_NOSPAWN, /* could not be started */
    REV_STOP,    /* end yourself */
    REV_EXIT,    /* reaped */
    REV_EOF,     /* both streams at their end */
    REV_GRACE,   /* its deadline has passed */
    REV_EVENTS
};
enum rank_do {
    DO_TERM = 1,  /* SIGTERM to the rank */
    DO_KILL = 2,  /* SIGKILL to it and all that descends from it */
    DO_GRACE = 4, /* its next deadline counts from now */
    DO_DRAIN = 8, /* read what its pipes hold; REV_EOF when none is left open */
    DO_CUT = 16,  /* read what its pipes hold, and end its streams although somebody holds them */
    DO_TELL = 32  /* it is over: tell the job */
};
/* The only writer of a rank's state; the DO_* bits of the edge, 0 where there is none. */
unsigned rank_step(enum rank_state *state, enum rank_event event);
const char *rank_state_name(enum rank_state state);
const char *rank_event_name(enum rank_event event);
#endif
