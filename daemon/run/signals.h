/* SPDX-License-Identifier: Apache-2.0
 *
 * signals - signals to the daemon become EV_SIGNAL events; SIGPIPE and SIGXFSZ are
 * ignored, so that a reader that is gone and a full file are errors of write(). */
#ifndef RUN_SIGNALS_H
#define RUN_SIGNALS_H
#include <uv.h>

int signals_open(uv_loop_t *loop);
void signals_close(void);
#endif
