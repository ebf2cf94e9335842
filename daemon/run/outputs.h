/* SPDX-License-Identifier: Apache-2.0
 *
 * outputs - standard output and standard error together: one console where both are the same thing
 * (2>&1: two would tear each other's lines), and the wait for a slow reader at the end. */
#ifndef RUN_OUTPUTS_H
#define RUN_OUTPUTS_H
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct console;
struct outputs;

/* `on_room` as console_open() has it, for either. The descriptors stay the caller's. */
struct outputs *outputs_open(uv_loop_t *loop, int out_fd, int err_fd, void (*on_room)(void *data),
                             void *data);
/* Borrowed. */
struct console *outputs_console(const struct outputs *o, bool is_err);
/* Sends what is buffered, as far as it goes now. */
void outputs_flush(struct outputs *o);
/* Calls `on_done`, from the loop, once all is written, or when nothing was taken for `idle_ms`, or
 * at `deadline_ms` (CLOCK_MONOTONIC; 0: none). What was not taken then is lost, and a warning says
 * how much. Once. */
void outputs_finish(struct outputs *o, uint64_t idle_ms, uint64_t deadline_ms,
                    void (*on_done)(void *data), void *data);
/* Frees itself in its last close callback. */
void outputs_close(struct outputs *o);
#endif
