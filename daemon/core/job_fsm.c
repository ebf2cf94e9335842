/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/job_fsm.h"

#include <stddef.h>

#include "base/cleanup.h"

static const struct {
    enum job_state in;
    enum job_event on;
    enum job_state to;
    unsigned what;
} edges[] = {
    {JOB_PREPARING, JEV_REFUSED,  JOB_REPORTING, JDO_REPORT        },
    {JOB_PREPARING, JEV_PREPARED, JOB_GATHERING, JDO_GATHER        },
    {JOB_PREPARING, JEV_FAILED,   JOB_STOPPING,  JDO_TERM          },
    {JOB_PREPARING, JEV_STOP,     JOB_STOPPING,  JDO_TERM          },
    {JOB_GATHERING, JEV_STARTED,  JOB_RUNNING,   JDO_START         },
    {JOB_GATHERING, JEV_FAILED,   JOB_STOPPING,  JDO_TERM          },
    {JOB_GATHERING, JEV_STOP,     JOB_STOPPING,  JDO_TERM          },
    {JOB_RUNNING,   JEV_FAILED,   JOB_STOPPING,  JDO_TERM          },
    {JOB_RUNNING,   JEV_STOP,     JOB_STOPPING,  JDO_TERM          },
    {JOB_RUNNING,   JEV_EXITED,   JOB_CLEARING,  JDO_CLEAR         },
    {JOB_STOPPING,  JEV_GRACE,    JOB_STOPPING,  JDO_KILL          },
    {JOB_STOPPING,  JEV_EXITED,   JOB_CLEARING,  JDO_CLEAR         },
    {JOB_CLEARING,  JEV_CLEAR,    JOB_AGREEING,  JDO_TELL          },
    {JOB_CLEARING,  JEV_GRACE,    JOB_AGREEING,  JDO_CUT | JDO_TELL},
    {JOB_AGREEING,  JEV_JUDGED,   JOB_REPORTING, JDO_REPORT        },
    {JOB_AGREEING,  JEV_GRACE,    JOB_REPORTING, JDO_REPORT        },
    {JOB_REPORTING, JEV_WRITTEN,  JOB_ENDED,     JDO_END           },
};

unsigned job_step(enum job_state *state, enum job_event event)
{
    for (size_t i = 0; i < LENGTH(edges); i++) {
        if (edges[i].in == *state && edges[i].on == event) {
            *state = edges[i].to;
            return edges[i].what;
        }
    }
    return 0;
}

const char *job_state_name(enum job_state state)
{
    static const char *const names[JOB_STATES] = {"preparing", "gathering", "running",   "stopping",
                                                  "clearing",  "agreeing",  "reporting", "ended"};

    return names[state];
}

const char *job_event_name(enum job_event event)
{
    static const char *const names[JEV_COUNT] = {"refused", "prepared", "started", "failed",
                                                 "stop",    "grace",    "exited",  "clear",
                                                 "judged",  "written"};

    return names[event];
}
