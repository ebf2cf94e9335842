/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/rootcause.h"

#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/mem.h"

#define TITLE     "Root Cause (first observed failure):"
#define VALUE_MAX 400

/* The value of the line "  NAME   : VALUE", to free(); NULL: no such line. */
static char *value_of(const char *text, size_t n, const char *name)
{
    const char *end = text + n;

    for (const char *line = text, *next; line < end; line = next + 1) {
        size_t want = strlen(name);

        next = memchr(line, '\n', (size_t)(end - line));
        if (!next)
            return NULL; /* the last one may be half a line */
        while (line < next && *line == ' ')
            line++;
        if ((size_t)(next - line) <= want || memcmp(line, name, want) != 0)
            continue;
        for (line += want; line < next && *line == ' '; line++)
            ;
        if (line == next || *line != ':')
            continue;
        for (line++; line < next && *line == ' '; line++)
            ;
        return mem_dup_n(line,
                         (size_t)(next - line) < VALUE_MAX ? (size_t)(next - line) : VALUE_MAX);
    }
    return NULL;
}

char *rootcause_text(const char *tail, size_t n)
{
    auto_buf struct buf out = {0};
    auto_free char *rank = NULL, *host = NULL, *code = NULL, *file = NULL;
    const char *block = NULL;

    for (const char *at = tail; (at = memmem(at, n - (size_t)(at - tail), TITLE, strlen(TITLE)));
         at += strlen(TITLE))
        block = at;
    if (!block)
        return NULL;
    n -= (size_t)(block - tail);
    rank = value_of(block, n, "rank");
    host = value_of(block, n, "host");
    code = value_of(block, n, "exitcode");
    file = value_of(block, n, "error_file");
    if (!rank)
        return NULL;
    buf_printf(&out, "rank %.*s", (int)strcspn(rank, " "), rank);
    if (host)
        buf_printf(&out, " on %s", host);
    if (code)
        buf_printf(&out, ": exitcode %s", code);
    if (file && *file == '/')
        buf_printf(&out, ", error_file %s", file);
    return buf_take(&out);
}
