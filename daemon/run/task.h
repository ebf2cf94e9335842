/* SPDX-License-Identifier: Apache-2.0
 *
 * task - one process under supervision, a rank or a step: its state, streams and outcome.
 *
 * Carries out what core/rank_fsm answers. Events come in through task_event(); what happens to the
 * task is told through its `tell` callback. The daemon owns it: task_done() after the loop's end.
 */
#ifndef RUN_TASK_H
#define RUN_TASK_H
#include "core/outcome.h"
#include "core/rank_fsm.h"
#include "run/logmux.h"

#include <stdbool.h>

struct task {
    enum rank_state state;
    struct outcome outcome;
    struct log_stream *out, *err; /* NULL before the start */
    bool eof_posted;
    char *error_file;          /* torchelastic's; NULL: none */
    char *out_path, *err_path; /* of the files; NULL: none */
};

struct task_spec {
    char *const *argv;
    char *const *env;
    const char *cwd;
};

/* Starts it and steps to RUNNING or DONE; false where it could not be started, the outcome's
 * spawn_error says why. */
bool task_start(struct task *t, const struct task_spec *spec, struct logmux *mux);
/* Feeds an event; the DO_* bits of the edge. Carries out DO_TERM, DO_DRAIN and DO_CUT; DO_KILL and
 * DO_TELL are the caller's. */
unsigned task_event(struct task *t, enum rank_event event);
/* For REV_EXIT: what waitpid() gave. */
void task_ended(struct task *t, int status, long max_rss_kib);
bool task_is_live(const struct task *t); /* started and not reaped */
/* Copies the last words into the outcome, reads its error file. Once, after it is done. */
void task_collect(struct task *t);
void task_done(struct task *t);
#endif
