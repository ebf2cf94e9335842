/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/lines.h"

#include <string.h>

#include "base/utf8.h"

#define CHARACTER_MAX 4 /* bytes */

static const char *find(const char *text, const char *end, char c)
{
    const char *at = memchr(text, c, (size_t)(end - text));

    return at ? at : end;
}

/* Shows `text` in pieces and returns how much of it was shown. Without the line's end a piece is
 * cut only when the character at its border is there whole. */
static size_t show_pieces(struct lines *l, const char *text, size_t n, bool ended)
{
    size_t spare = ended ? 0 : CHARACTER_MAX - 1;
    size_t at = 0;

    while (n - at > l->max + spare) {
        size_t piece = utf8_clip(text + at, n - at, l->max);

        l->show(l->data, text + at, piece, LINES_GOES_ON | (l->cut ? LINES_CONTINUES : 0));
        l->cut = true;
        at += piece;
    }
    if (!ended)
        return at;
    l->show(l->data, text + at, n - at, l->cut ? LINES_CONTINUES : 0);
    l->cut = false;
    return n;
}

static void show_state(struct lines *l, uint64_t now_ms)
{
    if (!l->state.len)
        return;
    l->next_ms = now_ms + (uint64_t)(1000 / l->per_s);
    (void)show_pieces(l, l->state.data, l->state.len, true);
    buf_clear(&l->state);
}

static void hold(struct lines *l, const char *text, size_t n, uint64_t now_ms)
{
    buf_add(&l->held, text, n);
    if (l->held.len <= l->max + CHARACTER_MAX - 1)
        return;
    show_state(l, now_ms);
    buf_drop_front(&l->held, show_pieces(l, l->held.data, l->held.len, false));
}

/* The held line ends with `text`. */
static void end_line(struct lines *l, const char *text, size_t n, uint64_t now_ms)
{
    show_state(l, now_ms);
    if (!l->held.len) {
        (void)show_pieces(l, text, n, true);
        return;
    }
    buf_add(&l->held, text, n);
    (void)show_pieces(l, l->held.data, l->held.len, true);
    buf_clear(&l->held);
}

static bool is_blank(const struct buf *text)
{
    for (size_t i = 0; i < text->len; i++)
        if (text->data[i] != ' ')
            return false;
    return true;
}

/* What is held was a state. */
static void end_state(struct lines *l, uint64_t now_ms)
{
    struct buf old = l->state;

    if (l->cut) {
        end_line(l, "", 0, now_ms);
        return;
    }
    if (!is_blank(&l->held)) {
        l->state = l->held;
        l->held = old;
    }
    buf_clear(&l->held);
    if (now_ms >= l->next_ms)
        show_state(l, now_ms);
}

/* `c` follows a '\r': "\n" makes both a line end, another '\r' tells nothing new. */
static bool resolve_cr(struct lines *l, char c, uint64_t now_ms)
{
    bool swallow = c == '\r' || (c == '\n' && l->early);

    if (c == '\r')
        return swallow;
    l->after_cr = false;
    if (c != '\n' && !l->early)
        end_state(l, now_ms);
    l->early = false;
    return swallow;
}

/* Whole lines at the front of `text` that can be shown in one, without the last one's end. */
static size_t plain_lines(const struct lines *l, const char *text, size_t n)
{
    const char *last;

    if (!l->together || n > l->max || l->held.len || l->state.len)
        return 0;
    last = memrchr(text, '\n', n);
    return last ? (size_t)(last - text) : 0;
}

void lines_feed(struct lines *l, const char *text, size_t n, uint64_t now_ms)
{
    const char *end = text + n;
    const char *lf = find(text, end, '\n'), *cr = find(text, end, '\r');

    while (text < end) {
        const char *stop;
        size_t plain;

        if (l->after_cr && resolve_cr(l, *text, now_ms)) {
            text++;
            continue;
        }
        cr = cr < text ? find(text, end, '\r') : cr;
        plain = cr == end ? plain_lines(l, text, (size_t)(end - text)) : 0;
        if (plain)
            lf = text + plain;
        else
            lf = lf < text ? find(text, end, '\n') : lf;
        stop = lf < cr ? lf : cr;
        if (stop < end && *stop == '\n')
            end_line(l, text, (size_t)(stop - text), now_ms);
        else
            hold(l, text, (size_t)(stop - text), now_ms);
        l->after_cr = stop < end && *stop == '\r';
        text = stop + 1;
    }
}

void lines_end(struct lines *l, uint64_t now_ms)
{
    if (l->after_cr && !l->early)
        end_state(l, now_ms);
    l->after_cr = l->early = false;
    show_state(l, now_ms);
    if (l->held.len)
        end_line(l, "", 0, now_ms);
}

/* A text with '\r' behind it: a state most likely, and nobody knows when more will come. */
static bool waits_behind_cr(const struct lines *l)
{
    return l->after_cr && !l->early && !l->cut && !is_blank(&l->held);
}

uint64_t lines_due_ms(const struct lines *l)
{
    if (!l->state.len && !waits_behind_cr(l))
        return 0;
    return l->next_ms ? l->next_ms : 1;
}

void lines_tick(struct lines *l, uint64_t now_ms)
{
    if (now_ms < l->next_ms)
        return;
    if (waits_behind_cr(l)) {
        end_state(l, now_ms);
        l->early = true;
    }
    show_state(l, now_ms);
}

void lines_done(struct lines *l)
{
    buf_done(&l->held);
    buf_done(&l->state);
}
