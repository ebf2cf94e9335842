/* SPDX-License-Identifier: Apache-2.0
 *
 * reaper - learns of every child that ended, our own and adopted orphans.
 *
 * The process becomes a child subreaper, unless it is PID 1. libuv's process API is not used
 * anywhere, so waitpid(-1) steals from nobody. Loop-owned: reaper_close() before the loop ends. */
#ifndef RUN_REAPER_H
#define RUN_REAPER_H
#include <sys/resource.h>
#include <uv.h>

/* `status` as from waitpid(). Called once for each process, ours or adopted. */
typedef void (*reaper_cb)(void *data, pid_t pid, int status, const struct rusage *usage);

int reaper_open(uv_loop_t *loop, reaper_cb on_end, void *data);
/* Looks now, without waiting for the signal. */
void reaper_look(void);
void reaper_close(void);
#endif
