/* SPDX-License-Identifier: Apache-2.0
 *
 * roster - the other hosts of a job and how far each of them is: who has come, who is ready, who
 * has told how its ranks ended, who is lost.
 *
 * Pure: no sockets, and the time is an argument (CLOCK_MONOTONIC, ms). The leader's roster has all
 * the others, everybody else's has the leader alone. Owner: roster_done(). */
#ifndef CORE_ROSTER_H
#define CORE_ROSTER_H
#include "core/outcome.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct testimony;

enum roster_state {
    ROSTER_ABSENT,
    ROSTER_HERE,
    ROSTER_READY,    /* its steps have ended well */
    ROSTER_REPORTED, /* its ranks have ended, and it has told how */
    ROSTER_LOST,
    ROSTER_STATES
};
enum roster_event { ROSTER_COMES, ROSTER_GETS_READY, ROSTER_REPORTS, ROSTER_GETS_LOST };

/* Sets of states, for the questions below. */
#define ROSTER_BIT(state) (1U << (state))
#define ROSTER_AT_WORK    (ROSTER_BIT(ROSTER_HERE) | ROSTER_BIT(ROSTER_READY))
#define ROSTER_ALIVE      (ROSTER_AT_WORK | ROSTER_BIT(ROSTER_REPORTED))

struct roster_host {
    char *name;
    enum roster_state state;
    unsigned ranks;              /* as it says itself */
    unsigned port;               /* that it has chosen for rank 0; 0: none */
    char *reason;                /* why it is absent or lost, or NULL */
    bool firm;                   /* the reason stands until it comes: its key is another, ... */
    uint64_t heard_ms;           /* its last sign of life */
    int64_t ahead_ms;            /* its clock less ours */
    int64_t trip_ms;             /* round trip of the ping that says so */
    bool measured;               /* there was such a ping */
    struct testimony *testimony; /* owned; NULL: none yet */
    void *data;                  /* the caller's */
};

struct roster {
    struct roster_host *hosts;
    size_t n;
};

void roster_add(struct roster *r, const char *name); /* before anything points to a host */
void roster_done(struct roster *r);
struct roster_host *roster_find(const struct roster *r, const char *name); /* NULL: none */

/* The only writer of a host's state. False where the event means nothing in that state. */
bool roster_step(struct roster_host *host, enum roster_event event);
const char *roster_state_name(enum roster_state state);

/* Why a host does not come, or was lost; in place of an earlier one, unless that is firm and this
 * one is not. */
void roster_reason(struct roster_host *host, const char *reason, bool firm);
/* A sign of life; the latest counts. */
void roster_heard(struct roster_host *host, uint64_t when_ms);
/* This process was itself not awake for `gap_ms`: nobody could be heard meanwhile. */
void roster_slept(struct roster *r, uint64_t gap_ms, uint64_t now_ms);
bool roster_is_silent(const struct roster_host *host, uint64_t now_ms, uint64_t limit_ms);
/* The answer to a ping of `sent_ms`, at `mine_ms` of its clock. The shortest round trip counts. */
void roster_pong(struct roster_host *host, int64_t sent_ms, int64_t mine_ms, int64_t now_ms);

/* How many hosts are in one of the states. */
size_t roster_count(const struct roster *r, unsigned states);
/* Their names, "algo-2, algo-3 and 4 more", at most `most` of them, with `reasons`
 * "algo-2 (connection refused)"; "" if there is none. To free(). */
char *roster_text(const struct roster *r, unsigned states, bool reasons, size_t most);
/* Has a host ended the job because a rank of its left early? */
bool roster_early_final(const struct roster *r);
/* What the hosts have told, in their order, and a lost outcome for each that is lost; `leader`:
 * they are the leader. A new array, to free(); what it points to is the roster's. */
struct outcome *roster_outcomes(const struct roster *r, bool leader, size_t *n);
#endif
