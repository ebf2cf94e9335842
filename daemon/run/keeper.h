/* SPDX-License-Identifier: Apache-2.0
 *
 * keeper - a small process that outlives a SIGKILL of the daemon, and then clears up.
 *
 * It sleeps on a socket whose other end only the daemon holds. When the daemon is gone without a
 * word, it kills every process that carries the run's mark or is in a session that the daemon
 * named. Not needed as PID 1, where the kernel does that. */
#ifndef RUN_KEEPER_H
#define RUN_KEEPER_H
#include <sys/types.h>

/* Its pid, 0 when none is needed, or a negative errno. Call before threads exist. */
pid_t keeper_start(const char *mark);
/* Names a session (a rank's pid) to it, and to run/killtree. Call before the rank is reaped. */
void keeper_add(pid_t session);
/* The job has ended well: the keeper goes, killing nobody, and run/killtree forgets the
 * sessions. */
void keeper_dismiss(void);
#endif
