/* SPDX-License-Identifier: Apache-2.0
 *
 * lines - splits a stream's bytes into the lines that a console shows.
 *
 * Nothing is decoded or trimmed. A line ends at '\n' or "\r\n"; what has no end yet is held. A line
 * of more than `max` bytes is shown in pieces, cut at character borders: joining the pieces gives
 * the line. Where it is cut does not depend on how the bytes came in.
 * A '\r' alone ends a state of a progress bar. States are shown as lines of their own, at most so
 * many a second; of those in between the latest is kept and shown before the next line, at the end,
 * or when lines_due_ms() has come. Empty and blank states (a bar that wipes itself) are no states.
 * The cuts of an over-long state are shown at once.
 * Pure: the time is an argument. Memory: two lines' worth. Owner: lines_done().
 * Source: field cases 19 to 21. */
#ifndef CORE_LINES_H
#define CORE_LINES_H
#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LINES_MAX_LEAST 4 /* bytes: a character always fits */

/* What a shown piece is of its line: 0 for all of it. */
enum { LINES_GOES_ON = 1, LINES_CONTINUES = 2 };

struct lines {
    /* `text` is without its line end. */
    void (*show)(void *data, const char *text, size_t n, unsigned cut);
    void *data;
    size_t max;       /* bytes, at least LINES_MAX_LEAST */
    double per_s;     /* states a second, above 0 */
    bool together;    /* show() may get several whole lines in one, with '\n' between them */
    struct buf held;  /* the rest is the module's own, 0 at first: the line without an end yet */
    struct buf state; /* shown when its time has come */
    bool cut;         /* pieces of the held line were shown */
    bool after_cr;    /* the last byte was '\r', and what comes next tells what it meant */
    bool early;       /* what stood before that '\r' was shown already */
    uint64_t next_ms; /* no state is shown before */
};

void lines_feed(struct lines *l, const char *text, size_t n, uint64_t now_ms);
/* The stream has ended: shows what is held. */
void lines_end(struct lines *l, uint64_t now_ms);
/* When lines_tick() has something to show; 0: nothing waits. */
uint64_t lines_due_ms(const struct lines *l);
void lines_tick(struct lines *l, uint64_t now_ms);
void lines_done(struct lines *l);
#endif
