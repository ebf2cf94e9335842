/* SPDX-License-Identifier: Apache-2.0
 *
 * testimony - what one host tells the leader about the end of its ranks, so that one verdict can be
 * found for all (the body of WIRE_REPORT).
 *
 * The host itself weighs what its ranks said (core/evidence): the leader gets weight, time, the
 * final line, and of the host's own first cause the detail. Texts are redacted where they come
 * from. Pure. */
#ifndef CORE_TESTIMONY_H
#define CORE_TESTIMONY_H
#include "base/json.h"
#include "core/outcome.h"

#include <stdint.h>

struct err;
struct redact;

#define TESTIMONY_MESSAGE_MAX 600   /* bytes of a final line */
#define TESTIMONY_DETAIL_MAX  12288 /* of the one detail */

#define TESTIMONY_EARLY "early" /* a member that a host may add: true for early_final */

/* What the leader has of a host: outcomes whose `witness` is set, ready for core/verdict. */
struct testimony {
    struct outcome *outcomes;
    size_t n;
    struct memory_facts memory;
    char *host;
    bool early_final; /* the host has ended the job because a rank of its left early */
};

/* Of all outcomes of a host (ranks and steps, ended well or not), in their order; within
 * WIRE_FRAME_MAX for 4096 ranks. Never NULL; the caller's. */
cJSON *testimony_json(const struct outcome *outcomes, size_t n, const struct memory_facts *memory,
                      const struct redact *redact);
/* Reads what `host` sent; its times are moved by -`ahead_ms` (how far its clock is ahead of ours).
 * NULL, with -EBADMSG in `err`, where it is not well-formed. To testimony_free(). */
struct testimony *testimony_read(const cJSON *body, const char *host, int64_t ahead_ms,
                                 struct err *err);
void testimony_free(struct testimony *t);
#endif
