/* SPDX-License-Identifier: Apache-2.0
 *
 * lookup - a host's name to its addresses, in libuv's pool.
 *
 * A name server that never answers holds a thread of the pool: such a lookup can be left behind,
 * but not ended. */
#ifndef RUN_LOOKUP_H
#define RUN_LOOKUP_H
#include <netdb.h>
#include <stdbool.h>
#include <uv.h>

struct lookup;

/* Calls `done` once, later, unless lookup_leave() comes before; the lookup is gone then. `found` is
 * good during the call, NULL where `status` is negative. NULL, with a negative errno in *why: a
 * name that cannot be asked for. */
struct lookup *lookup_start(uv_loop_t *loop, const char *name,
                            void (*done)(void *data, int status, const struct addrinfo *found),
                            void *data, int *why);
void lookup_leave(struct lookup *l); /* NULL is fine */
/* Is one still under way? Then the loop waits for it, and the process must leave by _exit(). */
bool lookup_is_busy(void);
#endif
