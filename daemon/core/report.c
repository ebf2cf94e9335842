/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/report.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "core/evidence.h"

#define FIRST_MAX          600   /* bytes of the first line in the head */
#define MESSAGE_MAX        640   /* of the error line */
#define LINE_MAX           220   /* of the help, of a follower's line */
#define DETAIL_MAX         12288 /* of the whole detail */
#define FOLLOWERS_MAX      64    /* named; more are counted */
#define FOLLOWERS_LIST_MAX 256   /* in failure.json, which goes to all hosts in one message */
#define FOLLOWERS_TEXT_MAX 65536 /* bytes of their messages; later ones are left out */
#define LAST_LINES_MAX     50
#define CUT                "..."

static const char *const kinds[] = {
    [VERDICT_SUCCESS] = "success",
    [VERDICT_FAILED] = "failed",
    [VERDICT_STOPPED] = "stopped",
};

/* ---- texts --------------------------------------------------------------------------------- */

/* One line of at most `max` bytes without its end. */
static void add_line(struct buf *out, const char *text, size_t max)
{
    size_t n = strlen(text);

    if (n > max) {
        buf_add(out, text, utf8_clip(text, n, max - strlen(CUT)));
        buf_str(out, CUT);
    } else {
        buf_add(out, text, n);
    }
    buf_char(out, '\n');
}

/* The end of `text` that fits into `room` bytes with its line end: whole lines, or of the last one
 * what fits. A mark in front says that something is missing. */
static void add_end(struct buf *out, const char *text, size_t n, size_t room)
{
    const char *mark = CUT "\n";
    size_t from;

    if (n + 1 <= room) {
        buf_add(out, text, n);
        buf_char(out, '\n');
        return;
    }
    if (room <= strlen(mark) + 1)
        return;
    from = n - (room - strlen(mark) - 1);
    if (memchr(text + from, '\n', n - from)) {
        if (text[from - 1] != '\n')
            from = (size_t)((const char *)memchr(text + from, '\n', n - from) - text) + 1;
    } else {
        while (from < n && ((unsigned char)text[from] & 0xc0) == 0x80)
            from++;
    }
    buf_str(out, mark);
    buf_add(out, text + from, n - from);
    buf_char(out, '\n');
}

/* Blanks at a line's end move the character that lies across byte REPORT_HEAD behind it. */
static char *align_head(const char *text)
{
    size_t n = strlen(text);
    size_t clip = n > REPORT_HEAD ? utf8_clip(text, n, REPORT_HEAD) : REPORT_HEAD;
    const char *end = clip < REPORT_HEAD ? memrchr(text, '\n', clip) : NULL;

    if (!end)
        return mem_dup(text);
    return mem_printf("%.*s%*s%s", (int)(end - text), text, (int)(REPORT_HEAD - clip), "", end);
}

/* Are the last lines of `text` those of `end`, and is there more? */
static bool ends_with_lines(const char *text, const char *end)
{
    size_t n = strlen(text), want = strlen(end);

    return want && n > want && text[n - want - 1] == '\n' && strcmp(text + n - want, end) == 0;
}

/* A copy whose texts hold no secrets; to masked_done(). */
static struct verdict masked(const struct verdict *v, const struct redact *redact)
{
    struct verdict copy = *v;

    copy.what = redact_text(redact, v->what);
    copy.message = redact_text(redact, v->message);
    copy.detail = redact_text(redact, v->detail);
    copy.help = v->help ? redact_text(redact, v->help) : NULL;
    return copy;
}

static void masked_done(struct verdict *copy)
{
    free(copy->what);
    free(copy->message);
    free(copy->detail);
    free(copy->help);
}

/* "exit code 3, rank 3 on algo-1" */
static char *what_and_where(const struct verdict *v)
{
    return mem_printf("%s%s%s", v->what, !*v->where ? "" : v->first ? ", " : ", on ", v->where);
}

/* ---- the failure file ---------------------------------------------------------------------- */

/* "rank 0 on algo-1: exit code 1: ConnectionResetError: ..." */
static char *follower_text(const struct outcome *o, const struct redact *redact)
{
    auto_free char *where = verdict_where(o);
    auto_free char *what = outcome_text(o);
    auto_free char *message = evidence_message(o);
    auto_free char *text = mem_printf("%s: %s%s%s", where, what, *message ? ": " : "", message);

    return redact_text(redact, text);
}

static void add_followers(struct buf *out, const struct verdict *v, const struct verdict_input *in,
                          const struct redact *redact)
{
    size_t shown = 0, more = 0;

    for (size_t i = 0; i < in->n; i++) {
        auto_free char *text = NULL;

        if (!verdict_is_follower(v, &in->outcomes[i]))
            continue;
        if (shown == FOLLOWERS_MAX || out->len + 2UL * LINE_MAX > REPORT_MAX) {
            more++;
            continue;
        }
        if (shown++ == 0)
            buf_str(out, "\nfollowers:\n");
        text = follower_text(&in->outcomes[i], redact);
        add_line(out, text, LINE_MAX);
    }
    if (more)
        buf_printf(out, "and %zu more\n", more);
}

/* First line, error line, help: at most REPORT_HEAD - 1 bytes. */
static void add_head(struct buf *out, const struct verdict *v)
{
    auto_free char *what = what_and_where(v);
    auto_free char *first = mem_printf("%s: %s", err_blame_name(v->blame), what);
    auto_free char *help = v->help ? mem_printf("help: %s", v->help) : NULL;

    add_line(out, first, FIRST_MAX);
    if (*v->message && strcmp(v->message, v->what) != 0) {
        size_t room = REPORT_HEAD - out->len - LINE_MAX - 3;

        add_line(out, v->message, room < MESSAGE_MAX ? room : MESSAGE_MAX);
    }
    if (help)
        add_line(out, help, LINE_MAX);
}

/* Its end within the head, and if that is not all of it, all of it. */
static void add_detail(struct buf *out, const struct verdict *v)
{
    size_t n = strlen(v->detail);
    size_t end = n;

    if (!n || strcmp(v->detail, v->message) == 0)
        return;
    buf_char(out, '\n');
    if (out->len + n < REPORT_HEAD) {
        add_end(out, v->detail, n, n + 1);
        return;
    }
    if (ends_with_lines(v->detail, v->message)) /* it stands above: more room for what led to it */
        end -= strlen(v->message) + 1;
    add_end(out, v->detail, end, REPORT_HEAD - out->len);
    buf_str(out, "\nin full:\n");
    add_end(out, v->detail, n, DETAIL_MAX);
}

char *report_failure(const struct verdict *v, const struct verdict_input *in,
                     const struct redact *redact)
{
    auto_buf struct buf out = {.max = REPORT_MAX - 4}; /* align_head() may add 3 */
    struct verdict copy = masked(v, redact);

    add_head(&out, &copy);
    add_detail(&out, &copy);
    masked_done(&copy);
    add_followers(&out, v, in, redact);
    return align_head(buf_text(&out));
}

/* ---- failure.json -------------------------------------------------------------------------- */

static void add_outcome(cJSON *object, const struct outcome *o)
{
    bool exited = o && o->ended && !o->signal;

    json_add(object, "rank",
             o && !o->step && !o->program && !o->lost ? json_new_integer(o->rank) : NULL);
    json_add(object, "exit", exited ? json_new_integer(o->exit_code) : NULL);
    json_add(object, "signal", o && o->signal ? json_new_integer(o->signal) : NULL);
}

static cJSON *last_lines(const char *text)
{
    cJSON *list = mem_check(cJSON_CreateArray());
    size_t n = strlen(text);
    const char *from = text + n;
    const char *least = n > DETAIL_MAX ? text + utf8_clip(text, n, n - DETAIL_MAX) : text;

    for (unsigned lines = 0; from > least; from--)
        if (from[-1] == '\n' && ++lines == LAST_LINES_MAX)
            break;
    while (*from) {
        size_t run = strcspn(from, "\n");
        auto_free char *line = mem_dup_n(from, run);

        (void)cJSON_AddItemToArray(list, mem_check(cJSON_CreateString(line)));
        from += run + (from[run] == '\n');
    }
    return list;
}

/* The first of them; *more counts the rest. */
static cJSON *followers(const struct verdict *v, const struct verdict_input *in,
                        const struct redact *redact, size_t *more)
{
    cJSON *list = mem_check(cJSON_CreateArray());
    size_t n = 0, room = FOLLOWERS_TEXT_MAX, size;

    for (size_t i = 0; i < in->n; i++) {
        const struct outcome *o = &in->outcomes[i];
        cJSON *object;
        auto_free char *message = NULL;
        auto_free char *clean = NULL;

        if (!verdict_is_follower(v, o) || n++ >= FOLLOWERS_LIST_MAX)
            continue;
        object = mem_check(cJSON_CreateObject());
        message = evidence_message(o);
        clean = redact_text(redact, message);
        size = utf8_clip(clean, strlen(clean), room < MESSAGE_MAX ? 0 : MESSAGE_MAX);
        clean[size] = '\0';
        room -= size;
        add_outcome(object, o);
        json_add_string(object, "host", o->host);
        json_add_string(object, "message", clean);
        (void)cJSON_AddItemToArray(list, object);
    }
    *more = n > FOLLOWERS_LIST_MAX ? n - FOLLOWERS_LIST_MAX : 0;
    return list;
}

static cJSON *killed(const struct verdict_input *in)
{
    cJSON *list = mem_check(cJSON_CreateArray());

    for (size_t i = 0; i < in->n; i++)
        if (!in->outcomes[i].step && !in->outcomes[i].program && in->outcomes[i].killed_ms)
            (void)cJSON_AddItemToArray(list, json_new_integer(in->outcomes[i].rank));
    return list;
}

static cJSON *memory(const struct memory_facts *facts)
{
    cJSON *object = mem_check(cJSON_CreateObject());

    json_add(object, "oom_kills", facts->readable ? json_new_integer(facts->oom_kills) : NULL);
    json_add(object, "limit", facts->limit > 0 ? json_new_integer(facts->limit) : NULL);
    json_add_string(object, "why", facts->readable ? NULL : facts->why);
    return object;
}

cJSON *report_json(const struct verdict *v, const struct verdict_input *in,
                   const struct redact *redact)
{
    cJSON *object = mem_check(cJSON_CreateObject());
    struct verdict copy = masked(v, redact);
    const struct memory_facts *facts =
        v->first && v->first->memory ? v->first->memory : &in->memory;
    size_t more;

    json_add(object, "version", json_new_integer(1));
    json_add_string(object, "kind", kinds[v->kind]);
    json_add_string(object, "blame", v->blame == BLAME_NONE ? NULL : err_blame_name(v->blame));
    json_add(object, "status", json_new_integer(v->status));
    json_add_string(object, "host", v->first ? v->first->host : in->host);
    json_add_string(object, "step", v->first ? v->first->step : NULL);
    add_outcome(object, v->first);
    json_add_string(object, "cause", copy.what);
    json_add_string(object, "message", copy.message);
    json_add_string(object, "help", copy.help);
    json_add(object, "last_lines", last_lines(copy.detail));
    json_add(object, "followers", followers(v, in, redact, &more));
    json_add(object, "followers_more", json_new_integer((long long)more));
    json_add(object, "killed", killed(in));
    json_add(object, "memory", memory(facts));
    masked_done(&copy);
    return object;
}

/* ---- the console --------------------------------------------------------------------------- */

/* "4 ranks, 12.3 s", "16 ranks on 2 hosts, 12.3 s". Outcomes of one host stand together. */
static char *size_text(const struct verdict_input *in)
{
    uint64_t start = UINT64_MAX, end = 0;
    size_t ranks = 0, hosts = 0;
    const char *host = "";
    auto_free char *where = NULL;

    for (size_t i = 0; i < in->n; i++) {
        const struct outcome *o = &in->outcomes[i];

        if (o->lost)
            continue;
        hosts += o->host && strcmp(o->host, host) != 0;
        host = o->host ? o->host : host;
        ranks += o->program ? o->ranks : !o->step;
        if (o->started && o->start_ms < start)
            start = o->start_ms;
        if (o->end_ms > end)
            end = o->end_ms;
    }
    where = hosts > 1 ? mem_printf(" on %zu hosts", hosts) : mem_dup("");
    return mem_printf("%zu rank%s%s, %.1f s", ranks, ranks == 1 ? "" : "s", where,
                      end > start ? (double)(end - start) / 1000 : 0.0);
}

/* "followers: 0, 2-5" */
static void list_followers(struct buf *out, const struct verdict *v, const struct verdict_input *in)
{
    struct run {
        unsigned from, to;
    } runs[FOLLOWERS_MAX];
    size_t n = 0, more = 0;

    for (size_t i = 0; i < in->n; i++) {
        const struct outcome *o = &in->outcomes[i];

        if (o->step || o->lost || !verdict_is_follower(v, o))
            continue;
        if (n && !more && o->rank == runs[n - 1].to + 1)
            runs[n - 1].to++;
        else if (n < FOLLOWERS_MAX)
            runs[n++] = (struct run){o->rank, o->rank};
        else
            more++;
    }
    for (size_t i = 0; i < n; i++) {
        buf_printf(out, "%s%u", i ? ", " : "followers: ", runs[i].from);
        if (runs[i].to != runs[i].from)
            buf_printf(out, "%s%u", runs[i].to - runs[i].from > 1 ? "-" : ", ", runs[i].to);
    }
    if (more)
        buf_printf(out, " and %zu more", more);
    if (n)
        buf_char(out, '\n');
}

char *report_summary(const struct verdict *v, const struct verdict_input *in,
                     const struct redact *redact)
{
    auto_buf struct buf out = {.max = REPORT_MAX};
    auto_free char *size = size_text(in);
    auto_free char *what = NULL;
    struct verdict copy = masked(v, redact);

    switch (v->kind) {
    case VERDICT_SUCCESS:
        buf_printf(&out, "job ended well: %s\n", size);
        break;
    case VERDICT_STOPPED:
        buf_printf(&out, "job stopped on request%s%s; %s\n", *copy.message ? "; " : "",
                   copy.message, size);
        break;
    case VERDICT_FAILED:
        what = what_and_where(&copy);
        buf_printf(&out, "job failed: %s", what);
        if (*copy.message && strcmp(copy.message, copy.what) != 0)
            buf_str(&out, ": ");
        else
            copy.message[0] = '\0';
        add_line(&out, copy.message, REPORT_HEAD);
        if (copy.help)
            buf_printf(&out, "help: %s\n", copy.help);
        list_followers(&out, v, in);
        buf_printf(&out, "%s, exit status %d\n", size, v->status);
        break;
    }
    masked_done(&copy);
    return buf_take(&out);
}
