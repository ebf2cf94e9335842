/* SPDX-License-Identifier: Apache-2.0
 *
 * signals - signals to the daemon become EV_SIGNAL events; SIGPIPE and SIGXFSZ are
 * ignored, so that a reader that is gone and a full file are errors of write(). SIGHUP stays
 * ignored where it was (nohup). */
#ifndef RUN_SIGNALS_H
#define RUN_SIGNALS_H
#include <uv.h>

/* First of all: from now on signals wait, for PID 1 too, that would lose them without a handler. */
void signals_hold(void);
/* Lets in what waited, and what whoever started us had left blocked. */
int signals_open(uv_loop_t *loop);
void signals_close(void);
#endif
