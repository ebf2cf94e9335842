/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes of a rank: the first says how short the pieces are, the second how the rest comes in.
 */
#include "config.h"

#include "fuzz.h"

#include "base/buf.h"
#include "core/lines.h"

#include <string.h>

struct shown {
    struct buf text, joined;
    size_t max;
};

static void show(void *data, const char *text, size_t n, unsigned cut)
{
    struct shown *s = data;

    MUST(n <= s->max);
    buf_char(&s->text, cut & LINES_CONTINUES ? '\\' : ' ');
    buf_add(&s->text, text, n);
    buf_str(&s->text, cut & LINES_GOES_ON ? "\\\n" : "\n");
    buf_add(&s->joined, text, n);
    if (!(cut & LINES_GOES_ON))
        buf_char(&s->joined, '\n');
}

static void feed(struct shown *s, size_t max, size_t part, const char *text, size_t n)
{
    struct lines l = {.show = show, .data = s, .max = max, .per_s = 2};

    s->max = max;
    for (size_t at = 0; at < n; at += part)
        lines_feed(&l, text + at, part < n - at ? part : n - at, 1000);
    MUST(l.held.len <= max + 3 && l.state.len <= max + 3);
    lines_end(&l, 1000);
    MUST(!l.held.len && !l.state.len && !lines_due_ms(&l));
    lines_done(&l);
}

/* Without a '\r' nothing is left out, and nothing comes in but a last line end. */
static void must_be_all(const struct shown *s, const char *text, size_t n)
{
    size_t end = n && text[n - 1] != '\n';

    if (memchr(text, '\r', n))
        return;
    MUST(s->joined.len == n + end);
    MUST(!n || memcmp(s->joined.data, text, n) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct shown whole = {.max = 0}, parts = {.max = 0};
    const char *text = (const char *)data + 2;

    if (size < 3)
        return 0;
    feed(&whole, LINES_MAX_LEAST + data[0] % 32, size, text, size - 2);
    feed(&parts, LINES_MAX_LEAST + data[0] % 32, 1 + data[1] % 64U, text, size - 2);
    MUST(whole.text.len == parts.text.len);
    MUST(memcmp(buf_text(&whole.text), buf_text(&parts.text), whole.text.len) == 0);
    must_be_all(&whole, text, size - 2);
    buf_done(&whole.text);
    buf_done(&whole.joined);
    buf_done(&parts.text);
    buf_done(&parts.joined);
    return 0;
}
