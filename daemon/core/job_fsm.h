/* SPDX-License-Identifier: Apache-2.0
 *
 * job_fsm - the states of the job on this host, and what the shell must do on each edge.
 *
 * A pure table that sees ranks, steps and the world outside only as events. States only go
 * forward. */
#ifndef CORE_JOB_FSM_H
#define CORE_JOB_FSM_H

enum job_state {
    JOB_PREPARING, /* steps before the ranks */
    JOB_GATHERING, /* ready: the other hosts are waited for */
    JOB_RUNNING,
    JOB_STOPPING,  /* ranks were told to end */
    JOB_CLEARING,  /* all have ended: strays are killed, streams come to their end */
    JOB_AGREEING,  /* all has ended here: one verdict is found for all hosts */
    JOB_REPORTING, /* verdict and files are written, the console takes the last lines */
    JOB_ENDED,
    JOB_STATES
};
enum job_event {
    JEV_REFUSED,  /* the job cannot be run */
    JEV_PREPARED, /* all steps ended well */
    JEV_STARTED,  /* all hosts are ready */
    JEV_FAILED,   /* a rank or step failed, or trouble of our own */
    JEV_STOP,     /* asked to stop */
    JEV_GRACE,    /* the grace has passed */
    JEV_EXITED,   /* no rank or step runs any more */
    JEV_CLEAR,    /* no stray is left and the streams have ended */
    JEV_JUDGED,   /* all that a verdict needs is here, or the verdict */
    JEV_WRITTEN,  /* the console has taken the last line, or will not */
    JEV_COUNT
};
enum job_do {
    JDO_GATHER = 1,   /* tell the other hosts that this one is ready */
    JDO_START = 2,    /* start the ranks */
    JDO_TERM = 4,     /* tell every rank to end, arm the grace */
    JDO_KILL = 8,     /* kill everything the job started */
    JDO_CLEAR = 16,   /* kill strays, wait for the ends of streams */
    JDO_CUT = 32,     /* wait no longer for strays and streams */
    JDO_TELL = 64,    /* tell the other hosts what became of the ranks */
    JDO_REPORT = 128, /* judge, write files, flush */
    JDO_END = 256     /* leave the loop */
};
/* The only writer of the job's state; the JDO_* bits of the edge, 0 where there is none. */
unsigned job_step(enum job_state *state, enum job_event event);
const char *job_state_name(enum job_state state);
const char *job_event_name(enum job_event event);
#endif
