/* SPDX-License-Identifier: Apache-2.0
 *
 * logtail - the last bytes of a stream, and when a traceback began to arrive in it.
 *
 * Costs a copy of at most `cap` bytes a chunk; the memory is taken with the first one. Pure. Owner:
 * logtail_done(). */
#ifndef CORE_LOGTAIL_H
#define CORE_LOGTAIL_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOGTAIL_TRACEBACK "Traceback (most recent call last)"

struct logtail {
    size_t cap;        /* bytes kept; more than LOGTAIL_TRACEBACK has */
    bool search;       /* for tracebacks */
    char *ring;        /* the rest is the module's own, 0 at first */
    size_t total;      /* bytes so far */
    uint64_t error_ms; /* when the last traceback began to arrive; 0: none */
};

void logtail_add(struct logtail *t, const char *bytes, size_t n, uint64_t now_ms);
/* The last bytes, NUL-ended, to free(). */
char *logtail_copy(const struct logtail *t, size_t *len);
void logtail_done(struct logtail *t);
#endif
