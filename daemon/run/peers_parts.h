/* SPDX-License-Identifier: Apache-2.0
 *
 * peers_parts - what the files of run/peers share, and nobody else includes.
 *
 *   peers.c         what the supervisor sees; heartbeats, limits, the lines of waiting
 *   peers_lead.c    the leader's side: who comes, who is ready, who has reported, who is lost
 *   peers_join.c    the others' side: the one connection to the leader
 *   peers_guests.c  accepted connections until their hello
 *   peers_doubts.c  the leader asks why absent hosts do not come */
#ifndef RUN_PEERS_PARTS_H
#define RUN_PEERS_PARTS_H
#include "core/roster.h"
#include "core/wire.h"
#include "run/link.h"
#include "run/peerkey.h"
#include "run/peers.h"

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct dial;
struct doubt;
struct listen;

/* An accepted connection. */
struct peer {
    struct link *link;
    struct roster_host *host; /* NULL: a guest, which has not said hello */
    bool open;                /* it knows the key */
    bool leaving;             /* it gets our last words, and is not listened to */
    uint64_t since_ms;
    char address[64];
    struct peer *previous, *next; /* among guests */
};

struct peers {
    uv_loop_t *loop;
    const struct inputs *in;
    const char *own, *leader; /* names */
    bool leads;
    struct peerkey key;
    struct tls_context *tls;
    cJSON *agreed;        /* core/agree's of this host */
    struct roster roster; /* of the leader: all others; of the others: the leader */

    uv_timer_t beat;  /* heartbeats, signs of life */
    uv_timer_t limit; /* for meeting; in the end for good-byes */
    uv_timer_t say;   /* whom we wait for */
    uv_timer_t wait;  /* for reports; of the others: for a leader to report to */
    uint64_t open_ms, due_ms, said_ms;
    char *said; /* the last line of waiting */

    struct listen *listen;
    struct peer *guests, *last_guest; /* the oldest first */
    size_t n_guests;
    unsigned warned;      /* bits of enum stranger */
    struct doubt *doubts; /* of the leader: one for each host of the roster, or NULL */

    struct dial *dial; /* of the others, until the leader has said welcome */
    struct link *link;
    bool welcome;
    bool alone; /* there is no leader any more, or none will come */

    unsigned posted; /* bits of enum peers_event */
    bool ready;      /* this host */
    bool met;        /* all hosts have come */
    bool late;       /* who has not come is not waited for any more */
    bool started;
    bool ended;     /* something ends the job for all; `stopped`: on request */
    bool ended_own; /* ... and this host has said so first, as far as it knows */
    bool stopped;
    char *end_text;
    bool reported; /* this host */
    cJSON *report; /* which is still to be sent */
    bool judged;   /* the verdict has been sent, or has come */
    bool mixed;    /* releases: it has been said */
    bool closing;
};
extern struct peers peers;

/* ---- peers.c -------------------------------------------------------------------------------- */

/* Posts it, once, with `m` (emptied; NULL: nothing) as news. */
void peers_post(enum peers_event event, struct wire_message *m);
/* The start; `l` leads to another host. */
void peers_post_start(struct wire_message *m, const struct link *l);
void peers_fault(enum err_blame blame, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Notes that the job ends; false if it did already. */
bool peers_note_end(bool stopped, const char *text);
void peers_post_end(void); /* the noted one */
void peers_arm(uv_timer_t *timer, uv_timer_cb on_time, double seconds);
/* Why a connection has ended, for a bracket: "connection refused", "wrong key", ... */
char *peers_reason(int why, enum tls_fault fault, const char *text);
/* While closing: a connection is gone, perhaps the last one. */
void peers_look_if_closed(void);

/* The port that this host has chosen, if its distribution's rank 0 is here; else 0. */
unsigned peers_own_port(void);

/* ---- peers_lead.c --------------------------------------------------------------------------- */

void lead_open(void);
void lead_hello(struct peer *g, struct wire_message *m);
void lead_message(struct peer *p, struct wire_message *m);
void lead_closed(struct roster_host *host, int why, enum tls_fault fault, const char *text);
/* `from` has told us, or NULL: nobody need tell it. `here`: this host says so itself. */
void lead_end(bool stopped, const char *text, const struct roster_host *from, bool here);
void lead_report(void);
void lead_look(void); /* is it time to start, to judge? */
void lead_beat(uint64_t now_ms);
void lead_late(void); /* not all have come in time */
void lead_verdict(const struct wire_message *m);
void lead_close(void); /* all connections of hosts */

/* ---- peers_join.c --------------------------------------------------------------------------- */

void peers_say_hello(struct link *l);
void join_open(void);
void join_hello(struct peer *g, struct wire_message *m); /* to the wrong host: we do not lead */
void join_ready(void);
void join_end(void);
void join_report(void);
void join_beat(uint64_t now_ms);
void join_late(void);
void join_close(void);

/* ---- peers_guests.c ------------------------------------------------------------------------- */

void guests_open(void);
void guests_close(void); /* no more connections; those that wait are closed, but for last words */
void guests_drop(void);  /* all of them */
void guests_admit(struct peer *g, struct roster_host *host);      /* it is a guest no more */
void guests_answer(struct peer *g, bool final, const char *text); /* WIRE_REFUSE, and good-bye */
void guests_refuse(struct peer *g, bool final, const char *text); /* ... with a line in the log */
void guests_sweep(uint64_t now_ms); /* those who know the key and say nothing */
void peer_drop(struct peer *p);     /* closes its link, forgets it; NULL is fine */

/* ---- peers_doubts.c ------------------------------------------------------------------------- */

void doubts_open(void);
void doubts_end(const struct roster_host *host); /* it has come */
void doubts_close(void);
#endif
