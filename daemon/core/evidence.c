/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/evidence.h"

#include <signal.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "core/rootcause.h"
#include "core/scan.h"

#define FRESH_MS   5000  /* a last word this long before the stop is a dying rank's */
#define HINT_MS    2000  /* ... if it is no more than a line */
#define ENDING_MS  30000 /* what a rank with an error may need to end by itself */
#define AFTER_MAX  20    /* lines behind a block that may still be its message, or a farewell */
#define LAST_LINES 40    /* of a stream without a block to show */

/* What an outcome said. Borrowed from it. */
struct words {
    struct scan scan;
    const char *err;
    size_t err_len;     /* up to when it was told to stop, a traceback to its end */
    bool elastic;       /* its error file counts: `scan` is of that */
    const char *source; /* what `scan` is of */
    size_t source_len;
    bool last;        /* the runtime itself said, and as its last word, what it died of */
    bool near;        /* the same, or with a few lines behind it */
    bool consequence; /* that, or else the last line, speaks of a peer's death */
};

/* Were it and its failure behind a stop of ours? */
bool evidence_was_told(const struct outcome *o)
{
    if (o->witness)
        return o->witness->told;
    return o->told_ms && (!o->ended || o->told_ms <= o->end_ms);
}

bool evidence_is_our_signal(const struct outcome *o)
{
    if (o->witness)
        return o->witness->our_signal;
    return evidence_was_told(o) &&
           (o->signal == SIGTERM || o->signal == SIGINT || (o->signal == SIGKILL && o->killed_ms));
}

/* The part of the tail that had come when it was told to stop. */
static size_t length_when_told(const struct outcome *o)
{
    size_t lost = o->total_err > o->last_err_len ? o->total_err - o->last_err_len : 0;

    if (!evidence_was_told(o))
        return o->last_err_len;
    if (o->told_err_len <= lost)
        return 0;
    return o->told_err_len - lost < o->last_err_len ? o->told_err_len - lost : o->last_err_len;
}

/* Is the block so young that the rank may have died of it? */
static bool is_young(const struct outcome *o, const struct scan *scan)
{
    bool told = evidence_was_told(o);
    uint64_t end = told ? o->told_ms : o->end_ms;
    uint64_t said = scan->traceback ? o->error_ms : told ? o->words_ms : 0;

    return !said || (said <= end && end - said <= (told ? FRESH_MS : ENDING_MS));
}

static void judge_words(const struct outcome *o, struct words *w)
{
    const struct scan *scan = &w->scan;
    bool block = scan->traceback || scan->fatal;

    w->last = block && scan->last;
    w->near = w->last || (block && scan->after <= AFTER_MAX && (w->elastic || is_young(o, scan)));
    w->consequence =
        w->near ? scan->consequence
                : scan_is_consequence(w->source + scan->line_from, scan->line_to - scan->line_from);
}

static struct words words_of(const struct outcome *o)
{
    struct words w = {.err = o->last_err ? o->last_err : ""};

    w.err_len = o->last_err ? length_when_told(o) : 0;
    w.source = w.err;
    scan_begun(w.err, w.err_len, o->last_err_len, &w.scan);
    w.err_len = w.scan.to > w.err_len ? w.scan.to : w.err_len;
    w.source_len = w.err_len;
    if (!w.scan.last && o->elastic_text && (!evidence_was_told(o) || o->elastic_ms < o->told_ms)) {
        w.elastic = true;
        w.source = o->elastic_text;
        w.source_len = strlen(o->elastic_text);
        scan_tail(w.source, w.source_len, &w.scan);
    } else if (!w.scan.line_to && o->last_out) {
        w.source = o->last_out;
        w.source_len = o->last_out_len;
        scan_tail(w.source, w.source_len, &w.scan);
    }
    judge_words(o, &w);
    return w;
}

/* Is the block the error to show? With lines behind it, it is if the rank ended the way that an
 * error makes it end. */
static bool shows_block(const struct outcome *o, const struct words *w)
{
    return w->last || (w->near && (w->scan.fatal || o->exit_code == 1 || o->signal));
}

/* It left with a code of its own after a whole line, which no progress bar wrote: it may have been
 * about to. Not so if our signal made it say more, or is in the code as shells have it. */
static bool may_have_been_leaving(const struct outcome *o, const struct words *w)
{
    size_t from = w->scan.line_from, to = w->scan.line_to;

    return o->ended && o->exit_code > 0 && o->exit_code != 128 + SIGTERM && w->source == w->err &&
           o->words_ms && o->told_ms - o->words_ms <= HINT_MS && o->error_ms < o->told_ms &&
           to < w->err_len && w->err[to] == '\n' && (!from || w->err[from - 1] != '\r') &&
           !w->consequence;
}

/* Of a rank that was told to stop, and what it died of was not its last word. */
static enum evidence_weight weight_of_told(const struct outcome *o, const struct words *w)
{
    if (o->signal && !evidence_is_our_signal(o))
        return EVIDENCE_STALE;
    if (w->near && w->source == w->err)
        return w->consequence ? EVIDENCE_CONSEQUENCE : EVIDENCE_STALE;
    return may_have_been_leaving(o, w) ? EVIDENCE_HINT : EVIDENCE_FOLLOWER;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return b && (!a || b < a) ? b : a;
}

static struct evidence weigh(const struct outcome *o)
{
    struct words w = words_of(o);
    bool told = evidence_was_told(o);
    bool speaks = w.elastic || (w.source == w.err && w.last);
    bool error = w.elastic || (w.source == w.err && w.near);
    struct evidence e = {EVIDENCE_FOLLOWER, o->end_ms ? o->end_ms : o->start_ms};

    if (o->overdue_s)
        return (struct evidence){EVIDENCE_CAUSE, o->told_ms};
    if (told && error) /* a later traceback may have overwritten the time of this one */
        e.when = o->told_ms;
    if (w.elastic)
        e.when = earlier(e.when, o->elastic_ms);
    else if (error && w.scan.traceback)
        e.when = earlier(e.when, o->error_ms);
    if (told && !speaks)
        e.weight = weight_of_told(o, &w);
    else if (w.consequence && (speaks || !o->signal))
        e.weight = EVIDENCE_CONSEQUENCE;
    else
        e.weight = told && o->told_ms - e.when > FRESH_MS ? EVIDENCE_STALE : EVIDENCE_CAUSE;
    if (e.weight == EVIDENCE_CAUSE && error && w.scan.cut && evidence_is_our_signal(o))
        e.weight = EVIDENCE_STALE; /* our signal cut it: what it was going to say is not known */
    return e;
}

struct evidence evidence_of(const struct outcome *o)
{
    if (o->lost)
        return (struct evidence){EVIDENCE_CAUSE, o->end_ms};
    if (o->witness)
        return (struct evidence){(enum evidence_weight)o->witness->weight, o->witness->when};
    return weigh(o);
}

/* Valid UTF-8 without NULs, and without the rank prefixes that PyTorch adds. */
static void add_clean(struct buf *out, const char *text, size_t n)
{
    while (n) {
        const char *end = memchr(text, '\n', n);
        size_t line = end ? (size_t)(end - text) + 1 : n;
        size_t skip = scan_rank_prefix(text, line);

        for (size_t at = skip; at < line;) {
            size_t run = strnlen(text + at, line - at);

            utf8_replace(out, text + at, run);
            at += run;
            if (at < line) {
                buf_str(out, "\xef\xbf\xbd");
                at++;
            }
        }
        text += line;
        n -= line;
    }
}

/* Lines become one, with single blanks between them. */
char *evidence_one_line(const char *text, size_t n)
{
    auto_buf struct buf clean = {0};
    auto_buf struct buf out = {0};
    const char *p;

    add_clean(&clean, text, n);
    p = buf_text(&clean);
    while (*p) {
        size_t run;

        p += strspn(p, "\r\n\t ");
        run = strcspn(p, "\r\n");
        while (run && (p[run - 1] == ' ' || p[run - 1] == '\t'))
            run--;
        if (run && out.len)
            buf_char(&out, ' ');
        buf_add(&out, p, run);
        p += run;
        p += strspn(p, "\r\n\t ");
    }
    return buf_take(&out);
}

/* What a torchrun that failed says of its ranks, to free(); NULL: it was no torchrun. */
static char *root_cause(const struct words *w)
{
    static const char name[] = "ChildFailedError";
    const struct scan *scan = &w->scan;
    size_t n = scan->error_to - scan->error_from;

    if (!scan->traceback || !memmem(w->source + scan->error_from, n, name, sizeof(name) - 1))
        return NULL;
    return rootcause_text(w->source + scan->error_from, w->source_len - scan->error_from);
}

static char *own_message(const struct outcome *o)
{
    struct words w = words_of(o);
    bool block = shows_block(o, &w);
    bool cut = !block && w.source == w.err && !w.scan.line_from && o->total_err > o->last_err_len;
    size_t from = block ? w.scan.error_from : w.scan.line_from;
    size_t to = block ? w.scan.error_to : w.scan.line_to;
    auto_free char *root = NULL;
    auto_free char *line = NULL;

    if (o->spawn_error)
        return evidence_one_line(o->spawn_error, strlen(o->spawn_error));
    if (o->overdue_s || (evidence_is_our_signal(o) && !block))
        return mem_dup(""); /* it was at work: its last line says nothing */
    root = root_cause(&w);
    if (root)
        return evidence_one_line(root, strlen(root));
    line = evidence_one_line(w.source + from, to - from);
    return cut ? mem_printf("... %s", line) : TAKE(line);
}

char *evidence_message(const struct outcome *o)
{
    if (o->lost)
        return mem_dup("");
    return o->witness ? mem_dup(o->witness->message) : own_message(o);
}

static void add_last_lines(struct buf *out, const char *text, size_t n)
{
    size_t at = n;

    for (unsigned lines = 0; at > 0; at--)
        if (text[at - 1] == '\n' && at < n && ++lines == LAST_LINES)
            break;
    if (out->len && n && out->data[out->len - 1] != '\n')
        buf_char(out, '\n');
    add_clean(out, text + at, n - at);
}

static char *own_detail(const struct outcome *o)
{
    struct words w = words_of(o);
    auto_free char *root = root_cause(&w);
    auto_buf struct buf out = {0};
    size_t n;

    if (root) { /* the rank's own words are before torchrun's */
        add_clean(&out, w.source, w.source_len);
    } else if (shows_block(o, &w)) {
        add_clean(&out, w.source + w.scan.from, w.source_len - w.scan.from);
    } else {
        if (o->last_out)
            add_last_lines(&out, o->last_out, o->last_out_len);
        add_last_lines(&out, w.err, w.err_len);
        if (w.elastic)
            add_last_lines(&out, w.source, w.source_len);
    }
    for (n = out.len; n && strchr("\r\n\t ", out.data[n - 1]); n--)
        ;
    if (out.data)
        out.data[n] = '\0';
    return buf_take(&out);
}

char *evidence_detail(const struct outcome *o)
{
    return o->witness ? mem_dup(o->witness->detail) : own_detail(o);
}
