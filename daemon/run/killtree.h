/* SPDX-License-Identifier: Apache-2.0
 *
 * killtree - finds and kills all that descends from this process, and from nobody else.
 *
 * As subreaper (or PID 1) every orphan of the job becomes our child, so our descendants are the
 * job's processes. There may be others: as PID 1 of a container those that docker exec started, and
 * children that a shell had before it became this process (exec > >(tee log)). Where there are, a
 * child is taken for the job's only if its environment carries the run's mark, or if it is in a
 * session that was noted. */
#ifndef RUN_KILLTREE_H
#define RUN_KILLTREE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Names the variable that marks this run's processes: SERRIED_RUN=<mark>. */
#define KILLTREE_MARK "SERRIED_RUN"

/* A mark no other run has, into `text` (33 bytes). Call before the first child is started: children
 * that are there already are not the job's. */
void killtree_new_mark(char *text);
/* `session`, a child that leads its own session, is the job's, and so is all that stays in it. Call
 * before the child is reaped. (keeper_add() does.) */
void killtree_note(pid_t session);
/* At the end: nothing is noted any more. (keeper_dismiss() does.) */
void killtree_forget(void);
/* Sends SIGKILL to every living descendant that is the job's, stopping each first so that none
 * forks away. `spare` (0: nobody) is left alone with its children. How many it found; 0: none is
 * left. Zombies do not count. */
size_t killtree_kill(const char *mark, pid_t spare);
/* How many are there now. */
size_t killtree_count(const char *mark, pid_t spare);
/* For a process that is no ancestor of the job's: kills all that carry the mark or are in a noted
 * session, whoever their parent is, but for the caller, and waits until they are dead. Again until
 * none is left, or `limit_ms` are over. True: none is left. */
bool killtree_sweep(const char *mark, uint64_t limit_ms);
#endif
