/* SPDX-License-Identifier: Apache-2.0
 *
 * evidence - what one outcome tells about the cause of a failure: how much, since when, in what
 * words. Pure; core/verdict compares the evidence of all. Source: field cases 24 to 27. */
#ifndef CORE_EVIDENCE_H
#define CORE_EVIDENCE_H
#include "core/outcome.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

/* How much an outcome has to say; lower goes first, then the earlier. */
enum evidence_weight {
    EVIDENCE_CAUSE,       /* ended by itself, or its last word shows that it was about to */
    EVIDENCE_STALE,       /* told to stop, but the signal was not ours, or its error is old, or more
                             lines follow it */
    EVIDENCE_HINT,        /* told to stop, ended by itself after a line that may say why */
    EVIDENCE_CONSEQUENCE, /* speaks of a peer's death */
    EVIDENCE_FOLLOWER     /* told to stop, and nothing else */
};

struct evidence {
    enum evidence_weight weight;
    uint64_t when; /* first sign of the fault */
};

/* Of a failed outcome. What it wrote after we told it to stop does not count. */
struct evidence evidence_of(const struct outcome *o);
/* Had we told it to stop before it ended? */
bool evidence_was_told(const struct outcome *o);
/* ... and did it end by the signal that we sent? */
bool evidence_is_our_signal(const struct outcome *o);
/* The final error line, on one line, valid UTF-8, maybe ""; to free(). */
char *evidence_message(const struct outcome *o);
/* The traceback and what follows it, or the last lines; valid UTF-8, maybe ""; to free(). */
char *evidence_detail(const struct outcome *o);
/* `text` on one line, valid UTF-8 without NULs; to free(). */
char *evidence_one_line(const char *text, size_t n);
#endif
