/* SPDX-License-Identifier: Apache-2.0
 *
 * peers - the other hosts of the job as this one sees them: a star around the leader.
 *
 * Meets them, agrees on the start, carries the first failure to all, collects what became of their
 * ranks, hands round the verdict; notices who is lost. Decides nothing about this host's ranks: it
 * posts EV_PEERS events (run/events), and run/supervise acts. One per process.
 *
 *   this host     every message below is posted once at most
 *   peers_open()  -> PEERS_FAULT  they cannot meet (someone missing after peer.meet_limit_s, hosts
 *                                 disagree, the port is taken)
 *   peers_ready() -> PEERS_START  all are ready
 *                 -> PEERS_END    a rank failed elsewhere, a host is lost, or a stop was asked for
 *                 -> PEERS_GONE   (leader) the ranks of some host have all ended
 *   peers_report()-> PEERS_REPORTED  (leader) every host has reported or is lost
 *                 -> PEERS_VERDICT   (others) the leader's verdict
 *
 * A lost leader is PEERS_END, and peers_outcomes() has it; no verdict will come then:
 * PEERS_REPORTED follows peers_report() at once, and this host judges alone. */
#ifndef RUN_PEERS_H
#define RUN_PEERS_H
#include "base/json.h"
#include "core/outcome.h"
#include "core/wire.h"

#include <stdbool.h>
#include <uv.h>

struct inputs;

/* The value of EV_PEERS; its `target` is a struct peers_news, the handler's to peers_news_free().
 */
enum peers_event { PEERS_START, PEERS_END, PEERS_GONE, PEERS_REPORTED, PEERS_VERDICT, PEERS_FAULT };

struct peers_news {
    struct wire_message message; /* of START, END (stopped, text) and VERDICT */
    struct err fault;            /* of FAULT */
    char interface[64];          /* of START: the one that leads to the others, "" if not known */
};
void peers_news_free(struct peers_news *news);

/* Does this job have other hosts to meet? Otherwise nothing below may be called. */
bool peers_wanted(const struct inputs *in);
/* Listens on the job's interface; the leader waits, the others dial. Faults come as an event. */
void peers_open(uv_loop_t *loop, const struct inputs *in);
/* This host has ended its steps. */
void peers_ready(void);
/* Something here ends the job for all: a failure, or a request to stop. Once; later calls, or after
 * PEERS_END, do nothing. */
void peers_end(bool stopped, const char *text);
/* All that ran here has ended; `report` is core/testimony's, taken over. */
void peers_report(cJSON *report);
/* What other hosts told, lost hosts included (outcome.lost); after PEERS_REPORTED. A new array, to
 * free(); texts are borrowed until peers_done(). */
struct outcome *peers_outcomes(size_t *n);
/* Leader: to all others; `m` stays the caller's. On the others: nothing. */
void peers_verdict(struct wire_message *m);
/* Says good-bye: what is queued is sent, all is closed within seconds, the loop is free then. */
void peers_close(void);
void peers_done(void); /* after the loop's end */
/* Is a name still being looked up in libuv's pool? Then the loop would wait, and the process must
 * leave by _exit(). */
bool peers_are_busy(void);
/* Leader: the other hosts that have reported, or those that are still at work, "algo-2, algo-3"; of
 * the others "". To free(). */
char *peers_list(bool reported);
/* Leader: did another host end the job because a rank of its left early? */
bool peers_early_final(void);
#endif
