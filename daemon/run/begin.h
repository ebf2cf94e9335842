/* SPDX-License-Identifier: Apache-2.0
 *
 * begin - what comes before the first process: the network is asked, the plan is made, the first
 * lines are said, files of the plan are written. Starts nothing and keeps nothing. */
#ifndef RUN_BEGIN_H
#define RUN_BEGIN_H
#include <uv.h>

struct findings;
struct inputs;
struct inputs_options;
struct peers_news;
struct plan;

/* Between inputs_read() and the run: asks the network (the loop runs meanwhile, one second at
 * most), makes job and plan, sets the level of the log. Faults are in in->findings. */
void begin_plan(const struct inputs_options *options, struct inputs *in, uv_loop_t *loop);
void begin_say_warnings(const struct inputs *in);
/* What runs, and what was chosen for it. */
void begin_say_start(const struct inputs *in);
/* All hosts are ready: what they agreed on is in in->plan from now on, and is said as far as it is
 * another than before. */
void begin_agree(struct inputs *in, const struct peers_news *start);
/* Variables too long for an environment; the program's file is made executable. */
void begin_make_files(const struct plan *plan);
void begin_remove_files(const struct plan *plan);
#endif
