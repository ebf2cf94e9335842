/* SPDX-License-Identifier: Apache-2.0
 *
 * crew - all processes of the job on this host: the steps one after another, then the ranks (or the
 * one program that starts them).
 *
 * Starts them as the plan says, tells them things, answers questions about them; when to do what is
 * the daemon's business. Owner: crew_done(), after the loop's end. */
#ifndef RUN_CREW_H
#define RUN_CREW_H
#include "run/task.h"

#include <stdbool.h>
#include <stddef.h>

struct inputs;
struct output;
struct plan_step;

struct crew {
    const struct inputs *in;
    const struct output *output;
    const char *mark; /* of run/killtree */
    struct logmux *mux;
    struct task *tasks; /* steps, then ranks */
    size_t n, n_steps;
    size_t step; /* the next one to start */
};

/* Everything is borrowed. Starts nothing. */
void crew_init(struct crew *c, const struct inputs *in, const struct output *output,
               const char *mark, struct logmux *mux);
void crew_done(struct crew *c);
/* The next step, NULL when all have been started. */
const struct plan_step *crew_next_step(const struct crew *c);
/* The one that was started last. */
struct task *crew_step(const struct crew *c);
/* False where it could not be started: it is logged, and its outcome says why. */
bool crew_start_step(struct crew *c);
/* The one that could not be started, then no more are tried; NULL: all run. */
const struct task *crew_start_ranks(struct crew *c);
/* Is any of them still to end? One that was given up is not. */
bool crew_runs(const struct crew *c);
/* Have all come to their end, streams included? */
bool crew_is_done(const struct crew *c);
/* The living one with this pid, or NULL. */
struct task *crew_find(const struct crew *c, pid_t pid);
/* Feeds the event to each. */
void crew_tell(struct crew *c, enum rank_event event);
/* Sends the signal to each living rank. */
void crew_signal(const struct crew *c, int number);
/* Warns of all that live on although it was their time to end. */
void crew_name_stubborn(const struct crew *c);
/* "1, 2": the ranks that still run, or those that ended by `before_ms`; to free(). */
char *crew_list_running(const struct crew *c);
char *crew_list_gone(const struct crew *c, uint64_t before_ms);
/* Of the ranks and of the steps that failed, with their last words; free() it, its texts are
 * borrowed; there is room for one more. */
struct outcome *crew_outcomes(struct crew *c, size_t *n);
/* Shows the last lines of this rank, if the console hides its lines. */
void crew_show_hidden(const struct crew *c, unsigned rank);
#endif
