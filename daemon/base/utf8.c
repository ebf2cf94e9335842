/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "base/utf8.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/unicode_tables.h"

#define REPLACEMENT 0xfffd

/* The well-formed sequences: first byte, number of bytes, and the second byte's range. */
static const struct lead {
    uint8_t first, last;
    uint8_t length;
    uint8_t low, high;
} leads[] = {
    {0x00, 0x7f, 1, 0,    0   },
    {0xc2, 0xdf, 2, 0x80, 0xbf},
    {0xe0, 0xe0, 3, 0xa0, 0xbf},
    {0xe1, 0xec, 3, 0x80, 0xbf},
    {0xed, 0xed, 3, 0x80, 0x9f},
    {0xee, 0xef, 3, 0x80, 0xbf},
    {0xf0, 0xf0, 4, 0x90, 0xbf},
    {0xf1, 0xf3, 4, 0x80, 0xbf},
    {0xf4, 0xf4, 4, 0x80, 0x8f},
};

static const struct lead *find_lead(uint8_t byte)
{
    for (size_t i = 0; i < sizeof(leads) / sizeof(leads[0]); i++)
        if (byte >= leads[i].first && byte <= leads[i].last)
            return &leads[i];
    return NULL;
}

/* Reads one character, or as many bytes as could have begun one (at least 1, `n` is not 0). Returns
 * the bytes read; *valid says which it was. */
static size_t scan(const char *text, size_t n, uint32_t *code, bool *valid)
{
    const uint8_t *bytes = (const uint8_t *)text;
    const struct lead *lead = find_lead(bytes[0]);
    size_t at = 1;

    *valid = false;
    if (!lead)
        return 1;
    *code = lead->length == 1 ? bytes[0] : bytes[0] & (0x7fU >> lead->length);
    for (; at < lead->length; at++) {
        uint8_t low = at == 1 ? lead->low : 0x80;
        uint8_t high = at == 1 ? lead->high : 0xbf;

        if (at == n || bytes[at] < low || bytes[at] > high)
            return at;
        *code = *code << 6 | (bytes[at] & 0x3f);
    }
    *valid = true;
    return at;
}

size_t utf8_decode(const char *text, size_t n, uint32_t *code)
{
    uint32_t found = 0;
    bool valid = false;
    size_t length = n ? scan(text, n, &found, &valid) : 0;

    if (!valid)
        return 0;
    *code = found;
    return length;
}

void utf8_encode(struct buf *out, uint32_t code)
{
    static const uint8_t marks[] = {0, 0, 0xc0, 0xe0, 0xf0};
    size_t length = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    char bytes[4];

    for (size_t i = length - 1; i > 0; i--) {
        bytes[i] = (char)(0x80 | (code & 0x3f));
        code >>= 6;
    }
    bytes[0] = (char)(marks[length] | code);
    buf_add(out, bytes, length);
}

size_t utf8_check(const char *text, size_t n)
{
    uint32_t code;

    for (size_t at = 0; at < n;) {
        size_t length = (signed char)text[at] >= 0 ? 1 : utf8_decode(text + at, n - at, &code);

        if (!length)
            return at;
        at += length;
    }
    return n;
}

size_t utf8_count(const char *text, size_t n)
{
    size_t count = 0;

    for (size_t i = 0; i < n; i++)
        count += ((uint8_t)text[i] & 0xc0) != 0x80;
    return count;
}

size_t utf8_clip(const char *text, size_t n, size_t want)
{
    uint32_t code;

    if (want >= n)
        return n;
    for (size_t back = 1; back < 4 && back <= want; back++)
        if (utf8_decode(text + want - back, n - want + back, &code) > back)
            return want - back;
    return want;
}

void utf8_replace(struct buf *out, const char *text, size_t n)
{
    size_t done = 0; /* bytes already in `out` */
    size_t at = utf8_check(text, n);

    while (at < n) {
        uint32_t code;
        bool valid;

        buf_add(out, text + done, at - done);
        utf8_encode(out, REPLACEMENT);
        done = at + scan(text + at, n - at, &code, &valid);
        at = done + utf8_check(text + done, n - done);
    }
    buf_add(out, text + done, n - done);
}

static int by_range(const void *key, const void *row)
{
    uint32_t code = *(const uint32_t *)key;
    const uint32_t *range = row; /* rows of both tables begin with first and last */

    return code < range[0] ? -1 : code > range[1];
}

void utf8_upper(struct buf *out, const char *text, size_t n)
{
    uint32_t code;
    size_t length;

    for (size_t at = 0; at < n && (length = utf8_decode(text + at, n - at, &code)); at += length) {
        const struct unicode_upper *row = bsearch(&code, unicode_uppers, unicode_uppers_count,
                                                  sizeof(unicode_uppers[0]), by_range);

        if (!row || (code - row->first) % row->step) {
            utf8_encode(out, code);
            continue;
        }
        utf8_encode(out, row->to[0] + (code - row->first));
        for (size_t i = 1; i < 3 && row->to[i]; i++)
            utf8_encode(out, row->to[i]);
    }
}

bool utf8_printable(uint32_t code)
{
    return bsearch(&code, unicode_printables, unicode_printables_count,
                   sizeof(unicode_printables[0]), by_range) != NULL;
}
