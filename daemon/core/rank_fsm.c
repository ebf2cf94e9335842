/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/rank_fsm.h"

#include <stddef.h>

#include "base/cleanup.h"

static const struct {
    enum rank_state in;
    enum rank_event on;
    enum rank_state to;
    unsigned what;
} edges[] = {
    {RANK_PLANNED,  REV_SPAWNED, RANK_RUNNING,  0                 },
    {RANK_PLANNED,  REV_NOSPAWN, RANK_DONE,     DO_TELL           },
    {RANK_PLANNED,  REV_STOP,    RANK_DONE,     DO_TELL           },
    {RANK_RUNNING,  REV_STOP,    RANK_STOPPING, DO_TERM | DO_GRACE},
    {RANK_RUNNING,  REV_EXIT,    RANK_DRAINING, DO_DRAIN          },
    {RANK_STOPPING, REV_EXIT,    RANK_DRAINING, DO_DRAIN          },
    {RANK_STOPPING, REV_GRACE,   RANK_KILLED,   DO_KILL | DO_GRACE},
    {RANK_KILLED,   REV_EXIT,    RANK_DRAINING, DO_DRAIN          },
    {RANK_KILLED,   REV_GRACE,   RANK_DONE,     DO_TELL           }, /* stuck in the kernel */
    {RANK_DRAINING, REV_EOF,     RANK_DONE,     DO_TELL           },
    {RANK_DRAINING, REV_GRACE,   RANK_DONE,     DO_CUT | DO_TELL  }, /* a stray kept the pipe */
};

unsigned rank_step(enum rank_state *state, enum rank_event event)
{
    for (size_t i = 0; i < LENGTH(edges); i++) {
        if (edges[i].in == *state && edges[i].on == event) {
            *state = edges[i].to;
            return edges[i].what;
        }
    }
    return 0;
}

const char *rank_state_name(enum rank_state state)
{
    static const char *const names[RANK_STATES] = {"planned", "running",  "stopping",
                                                   "killed",  "draining", "done"};

    return names[state];
}

const char *rank_event_name(enum rank_event event)
{
    static const char *const names[REV_EVENTS] = {"spawned", "nospawn", "stop",
                                                  "exit",    "eof",     "grace"};

    return names[event];
}
