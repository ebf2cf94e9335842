/* SPDX-License-Identifier: Apache-2.0
 *
 * wire - what the daemons of a job say to each other: frames and messages.
 *
 * A frame is four bytes of length (big-endian, of what follows) and one JSON object with the member
 * "say". Pure: no sockets. A message that does not fit its row of the table (member missing, of
 * another type, out of bounds) is refused; members that are not in the table are skipped.
 * Source: serry-wire(7). */
#ifndef CORE_WIRE_H
#define CORE_WIRE_H
#include "base/buf.h"
#include "base/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

#define WIRE_VERSION   1
#define WIRE_FRAME_MAX ((size_t)1 << 20) /* bytes of JSON */

enum wire_kind {
    WIRE_HELLO, /* to the leader: version, release, job, host, ranks, port (free for rank 0, on the
                   host that has it), body (core/agree) */
    WIRE_WELCOME, /* from the leader: you are in */
    WIRE_REFUSE,  /* from the leader: text; final: coming again is no use */
    WIRE_READY,   /* to the leader: all steps have ended well */
    WIRE_START,   /* from the leader: body: [ranks, port, ranks, port, ...] of all hosts, in the
                     order of job_sorted_hosts() */
    WIRE_END,     /* both ways: the ranks are to end; stopped, text: why */
    WIRE_REPORT,  /* to the leader: body (core/testimony): what became of this host's ranks */
    WIRE_VERDICT, /* from the leader: kind, status, rank, text (failure file), summary, body
                     (failure.json) */
    WIRE_PING,    /* from the leader: time */
    WIRE_PONG,    /* the answer: the ping's time, mine */
    WIRE_KINDS
};

/* Which members a kind has is in the table; the others are 0 or NULL. */
struct wire_message {
    enum wire_kind kind;
    long version, ranks, port, status;
    long rank;    /* -1: none */
    long verdict; /* enum verdict_kind */
    bool stopped; /* on request, not for a failure */
    bool final;
    int64_t time;  /* CLOCK_MONOTONIC of the leader, ms */
    int64_t mine;  /* ... of the answering host */
    char *release; /* PACKAGE_VERSION */
    char *job, *host;
    char *text, *summary;
    cJSON *body;
};

void wire_message_done(struct wire_message *m);
/* Appends the whole frame. -EMSGSIZE, with nothing appended, where it would be over WIRE_FRAME_MAX.
 */
int wire_encode(const struct wire_message *m, struct buf *out);
/* `json` of `n` bytes is one frame's content. -EBADMSG with a sentence in `err` (it names the
 * message and the member, and shows nothing of the bytes). */
int wire_decode(const char *json, size_t n, struct wire_message *out, struct err *err);
const char *wire_kind_name(enum wire_kind kind); /* "hello", ... */

/* The content of the next whole frame in `in` from `*at` on: its bytes, borrowed, and `*n`; moves
 * `*at` behind it. NULL with *n 0: not whole yet. NULL with *n 1: -EMSGSIZE, a length that is 0 or
 * over WIRE_FRAME_MAX: no frame will ever come. */
const char *wire_next(const struct buf *in, size_t *at, size_t *n);
#endif
