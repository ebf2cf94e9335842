/* SPDX-License-Identifier: Apache-2.0
 *
 * state - the folder of one emulation: made, locked while it runs, removed at the end.
 *
 * A folder whose owner was killed is known by its lock, which nobody holds; it is removed when the
 * next emulation of the same user begins. One that is kept has no lock. */
#ifndef EMULATOR_STATE_H
#define EMULATOR_STATE_H
#include <stdbool.h>

struct err;

struct state {
    char *path; /* absolute, without links */
    int lock;
    bool made; /* by us: it is removed, not only emptied */
    bool keep;
};

/* Sweeps, then makes `path`, which must be empty if it is there; NULL: a new folder below TMPDIR,
 * else /tmp. BLAME_USER: not empty, or in use; BLAME_PLATFORM: cannot be made. */
int state_open(struct state *s, const char *path, bool keep, struct err *err);
/* The folder of the only emulation of this user that runs, below TMPDIR or /tmp; to free(). NULL,
 * with `err` (BLAME_USER): there is none, or more than one. */
char *state_find(struct err *err);
/* Removes what it may. 0 or a negative errno: something is left. Does nothing for {0} with lock -1.
 */
int state_close(struct state *s);
#endif
