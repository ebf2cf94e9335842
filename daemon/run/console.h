/* SPDX-License-Identifier: Apache-2.0
 *
 * console - our standard output and standard error, never blocking, bounded.
 *
 * A pipe or terminal is opened anew so that O_NONBLOCK is not forced on others who share it; a
 * socket is sent to with MSG_DONTWAIT; a regular file is written as it is. What a slow reader has
 * not taken waits in a bounded buffer: console_is_full() asks the pumps to stop reading. A reader
 * that is gone (EPIPE) takes nothing more and harms nobody. What is written goes out before the
 * loop waits next, in large parts when there is much of it.
 * SIGPIPE and SIGXFSZ must be ignored. */
#ifndef RUN_CONSOLE_H
#define RUN_CONSOLE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

struct console;

#define CONSOLE_FULL ((size_t)256 << 10) /* bytes that wait when console_is_full() */
#define CONSOLE_MAX  ((size_t)64 << 20)  /* what would pass this is lost; see console_lost() */

/* `on_room` is called when a console that had to wait has room again, and when it has written all.
 */
struct console *console_open(uv_loop_t *loop, int fd, void (*on_room)(void *data), void *data);
void console_write(struct console *c, const void *bytes, size_t n); /* whole lines */
/* Writing without a copy: a place for at most `n` bytes, good until the next call, and how many
 * were put there. */
char *console_room(struct console *c, size_t n);
void console_used(struct console *c, size_t n);
/* Sends what is buffered, as far as it goes now. */
void console_flush(struct console *c);
bool console_is_full(const struct console *c);
size_t console_pending(const struct console *c);
/* CLOCK_MONOTONIC ms of the last byte that a reader took; 0 at first. */
uint64_t console_progress_ms(const struct console *c);
/* Gives up what is pending; console_lost() tells how many bytes. */
void console_give_up(struct console *c);
size_t console_lost(const struct console *c);
/* Frees itself in its last close callback. NULL is fine. */
void console_close(struct console *c);
#endif
