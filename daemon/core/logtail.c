/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/logtail.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define WORD     LOGTAIL_TRACEBACK
#define WORD_LEN (sizeof(WORD) - 1)

/* Copies the last `n` bytes, n <= cap and <= total. */
static void copy_last(const struct logtail *t, char *out, size_t n)
{
    size_t from = (t->total - n) % t->cap;
    size_t first = n < t->cap - from ? n : t->cap - from;

    memcpy(out, t->ring + from, first);
    memcpy(out + first, t->ring, n - first);
}

/* Looks in `bytes`, and across the border to what came before. */
static bool has_traceback(const struct logtail *t, const char *bytes, size_t n)
{
    char seam[2 * (WORD_LEN - 1)];
    size_t before = t->total < WORD_LEN - 1 ? t->total : WORD_LEN - 1;
    size_t after = n < WORD_LEN - 1 ? n : WORD_LEN - 1;

    if (memmem(bytes, n, WORD, WORD_LEN))
        return true;
    copy_last(t, seam, before);
    memcpy(seam + before, bytes, after);
    return memmem(seam, before + after, WORD, WORD_LEN);
}

void logtail_add(struct logtail *t, const char *bytes, size_t n, uint64_t now_ms)
{
    size_t keep = n < t->cap ? n : t->cap;
    size_t at, first;

    if (!t->ring)
        t->ring = mem_zero(t->cap);
    if (t->search && has_traceback(t, bytes, n))
        t->error_ms = now_ms;
    t->total += n;
    at = (t->total - keep) % t->cap;
    first = keep < t->cap - at ? keep : t->cap - at;
    memcpy(t->ring + at, bytes + n - keep, first);
    memcpy(t->ring, bytes + n - keep + first, keep - first);
}

char *logtail_copy(const struct logtail *t, size_t *len)
{
    size_t n = t->total < t->cap ? t->total : t->cap;
    char *out = mem_zero(n + 1);

    if (n)
        copy_last(t, out, n);
    *len = n;
    return out;
}

void logtail_done(struct logtail *t)
{
    free(t->ring);
    t->ring = NULL;
}
