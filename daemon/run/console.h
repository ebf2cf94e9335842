/* SPDX-License-Identifier: Apache-2.0
 *
 * console - our standard output and standard error, never blocking, bounded.
 *
 * A pipe or terminal is opened anew so that O_NONBLOCK is not forced on others who share it; a
 * socket is sent to with MSG_DONTWAIT; a regular file is written as it is. What a slow reader has
 * not taken waits in a bounded buffer: console_is_full() asks the pumps to stop reading. A reader
 * that is gone (EPIPE) takes nothing more and harms nobody. */
#ifndef RUN_CONSOLE_H
#define RUN_CONSOLE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

struct console;

/* `on_room` is called when a full console has room again, and when all is written. */
struct console *console_open(uv_loop_t *loop, int fd, void (*on_room)(void *data), void *data);
void console_write(struct console *c, const void *bytes, size_t n); /* whole lines */
/* Sends what is buffered, as far as it goes now. */
void console_flush(struct console *c);
bool console_is_full(const struct console *c);
size_t console_pending(const struct console *c);
/* CLOCK_MONOTONIC ms of the last byte that a reader took; 0 at first. */
uint64_t console_progress_ms(const struct console *c);
/* Gives up what is pending; console_lost() tells how many bytes. */
void console_give_up(struct console *c);
size_t console_lost(const struct console *c);
/* Frees itself in its last close callback. */
void console_close(struct console *c);
#endif
