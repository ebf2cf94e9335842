/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/testimony.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "core/evidence.h"
#include "core/redact.h"
#include "core/verdict.h"

#define OUTCOMES_MAX (4096 + 64)
#define ALL_MESSAGES ((size_t)96 << 10) /* bytes of JSON of all messages but the first cause's */
#define TITLE_MAX    256
#define LIST         "ended"

enum form { FORM_FLAG, FORM_NUMBER, FORM_UNSIGNED, FORM_TIME, FORM_NAME };

/* Members of an outcome; one that is 0, false or NULL is left out. Besides, of one that was told to
 * stop: "was_told"; of one that failed, what core/evidence finds: "weight", "when", "by_us" (our
 * own signal ended it), "no_start" (spawn_blame: it could not be started), "message", "detail". */
static const struct field {
    const char *name;
    enum form form;
    size_t at;
    long min, max;
} fields[] = {
#define FIELD(name, form, member, min, max)                                                        \
    {                                                                                              \
        name, form, offsetof(struct outcome, member), min, max                                     \
    }
    FIELD("rank", FORM_UNSIGNED, rank, 0, INT_MAX),
    FIELD("local", FORM_UNSIGNED, local_rank, 0, INT_MAX),
    FIELD("ranks", FORM_UNSIGNED, ranks, 0, INT_MAX),
    FIELD("pid", FORM_NUMBER, pid, 0, INT_MAX),
    FIELD("started", FORM_FLAG, started, 0, 1),
    FIELD("ended", FORM_FLAG, ended, 0, 1),
    FIELD("exit", FORM_NUMBER, exit_code, -1, 255),
    FIELD("signal", FORM_NUMBER, signal, 0, 127),
    FIELD("overdue", FORM_UNSIGNED, overdue_s, 0, INT_MAX),
    FIELD("start", FORM_TIME, start_ms, 0, LONG_MAX),
    FIELD("end", FORM_TIME, end_ms, 0, LONG_MAX),
    FIELD("told", FORM_TIME, told_ms, 0, LONG_MAX),
    FIELD("killed", FORM_TIME, killed_ms, 0, LONG_MAX),
    FIELD("step", FORM_NAME, step, 0, TITLE_MAX),
    FIELD("program", FORM_NAME, program, 0, TITLE_MAX),
#undef FIELD
};

/* ---- out ------------------------------------------------------------------------------------- */

static void add_field(cJSON *to, const struct field *f, const struct outcome *o)
{
    const void *at = (const char *)o + f->at;
    const char *name = f->form == FORM_NAME ? *(char *const *)at : NULL;
    long long number = f->form == FORM_FLAG       ? *(const bool *)at
                       : f->form == FORM_UNSIGNED ? *(const unsigned *)at
                       : f->form == FORM_NUMBER   ? *(const int *)at
                       : f->form == FORM_TIME     ? (long long)*(const uint64_t *)at
                                                  : 0;

    if (name) {
        auto_free char *clipped = mem_dup_n(name, utf8_clip(name, strlen(name), TITLE_MAX));

        json_add_string(to, f->name, clipped);
    } else if (number) {
        json_add(to, f->name, json_new_integer(number));
    }
}

/* Bytes that json_write() makes of it, at most. */
static size_t json_size(const char *text)
{
    size_t size = 0;

    for (; *text; text++)
        size += *text >= ' ' && *text <= '~' ? 1 + (*text == '"' || *text == '\\') : 6;
    return size;
}

/* Secrets are taken out before it is cut: the rest of one would not be known as a secret. */
static void add_message(cJSON *to, const struct outcome *o, bool first, size_t *room,
                        const struct redact *redact)
{
    auto_free char *message = evidence_message(o);
    auto_free char *shown = redact_text(redact, message);
    size_t size;

    shown[utf8_clip(shown, strlen(shown), TESTIMONY_MESSAGE_MAX)] = '\0';
    size = json_size(shown);
    if (!*shown || (!first && size > *room))
        return;
    json_add_string(to, "message", shown);
    *room -= first ? 0 : size;
}

static void add_detail(cJSON *to, const struct outcome *o, const struct redact *redact)
{
    auto_free char *detail = evidence_detail(o);
    auto_free char *shown = redact_text(redact, detail);
    size_t n = strlen(shown);
    size_t from = n > TESTIMONY_DETAIL_MAX ? utf8_clip(shown, n, n - TESTIMONY_DETAIL_MAX + 3) : 0;

    if (*shown)
        json_add_string(to, "detail", shown + from);
}

static void add_evidence(cJSON *to, const struct outcome *o, bool first, size_t *room,
                         const struct redact *redact)
{
    struct evidence e = evidence_of(o);

    json_add(to, "weight", json_new_integer(e.weight));
    json_add(to, "when", json_new_integer((long long)e.when));
    if (evidence_is_our_signal(o))
        json_add(to, "by_us", json_new_integer(1));
    if (o->spawn_error)
        json_add(to, "no_start", json_new_integer(o->spawn_blame));
    add_message(to, o, first, room, redact);
    if (first)
        add_detail(to, o, redact);
}

static cJSON *memory_json(const struct memory_facts *memory)
{
    cJSON *object = mem_check(cJSON_CreateObject());

    json_add(object, "readable", mem_check(cJSON_CreateBool(memory->readable)));
    json_add(object, "oom_kills", json_new_integer(memory->oom_kills > 0 ? memory->oom_kills : 0));
    json_add(object, "limit", json_new_integer(memory->limit > 0 ? memory->limit : 0));
    json_add_string(object, "why", memory->why);
    return object;
}

cJSON *testimony_json(const struct outcome *outcomes, size_t n, const struct memory_facts *memory,
                      const struct redact *redact)
{
    cJSON *body = mem_check(cJSON_CreateObject());
    cJSON *list = mem_check(cJSON_CreateArray());
    const struct outcome *first = verdict_first(outcomes, n);
    size_t room = ALL_MESSAGES;

    for (size_t i = 0; i < n && i < OUTCOMES_MAX; i++) {
        cJSON *one = mem_check(cJSON_CreateObject());

        for (size_t k = 0; k < LENGTH(fields); k++)
            add_field(one, &fields[k], &outcomes[i]);
        if (evidence_was_told(&outcomes[i])) /* who ended well before that may have left early */
            json_add(one, "was_told", json_new_integer(1));
        if (outcome_status(&outcomes[i]) != 0)
            add_evidence(one, &outcomes[i], &outcomes[i] == first, &room, redact);
        (void)cJSON_AddItemToArray(list, one);
    }
    json_add(body, LIST, list);
    json_add(body, "memory", memory_json(memory));
    return body;
}

/* ---- in -------------------------------------------------------------------------------------- */

/* 0 stays 0, which means never. */
static uint64_t shift(long value, int64_t ahead_ms)
{
    if (!value)
        return 0;
    if (ahead_ms > 0)
        return value > ahead_ms ? (uint64_t)(value - ahead_ms) : 1;
    return (uint64_t)value - (uint64_t)ahead_ms;
}

static bool read_number(const cJSON *from, const char *name, long min, long max, long *out)
{
    const cJSON *node = json_get(from, name);

    *out = 0;
    return !node || json_integer(node, min, max, out);
}

/* False: the member is not as it should be. Names are copied, the outcome's owner frees
 * them. */
static bool read_field(const cJSON *from, const struct field *f, int64_t ahead_ms,
                       struct outcome *o)
{
    void *at = (char *)o + f->at;
    const cJSON *node = json_get(from, f->name);
    const char *name = json_string(node);
    long number = 0;

    if (f->form == FORM_NAME) {
        *(char **)at = name ? evidence_one_line(name, strlen(name)) : NULL;
        return !node || (name && strlen(name) <= (size_t)f->max);
    }
    if (!read_number(from, f->name, f->min, f->max, &number))
        return false;
    switch (f->form) {
    case FORM_FLAG:
        *(bool *)at = number != 0;
        break;
    case FORM_UNSIGNED:
        *(unsigned *)at = (unsigned)number;
        break;
    case FORM_NUMBER:
        *(int *)at = (int)number;
        break;
    case FORM_TIME:
        *(uint64_t *)at = shift(number, ahead_ms);
        break;
    case FORM_NAME:
        break;
    }
    return true;
}

/* False: it is no string. */
static bool read_text(const cJSON *from, const char *name, size_t max, char **out)
{
    const cJSON *node = json_get(from, name);
    const char *text = json_string(node);

    *out = text ? mem_dup_n(text, utf8_clip(text, strlen(text), max)) : mem_dup("");
    return !node || text;
}

static bool read_evidence(const cJSON *from, int64_t ahead_ms, struct outcome *o)
{
    struct witness *w = mem_zero(sizeof(*w));
    long weight, when, told, by_us, blame;
    auto_free char *message = NULL;
    bool good = read_text(from, "message", TESTIMONY_MESSAGE_MAX, &message);

    o->witness = w;
    w->message = evidence_one_line(message, strlen(message));
    if (!read_text(from, "detail", TESTIMONY_DETAIL_MAX, &w->detail) || !good ||
        !read_number(from, "weight", 0, EVIDENCE_FOLLOWER, &weight) ||
        !read_number(from, "when", 0, LONG_MAX, &when) ||
        !read_number(from, "was_told", 0, 1, &told) || !read_number(from, "by_us", 0, 1, &by_us) ||
        !read_number(from, "no_start", 0, BLAME_HOST, &blame))
        return false;
    w->weight = (int)weight;
    w->when = shift(when, ahead_ms);
    w->told = told != 0;
    w->our_signal = by_us != 0;
    if (json_get(from, "no_start")) {
        o->spawn_error = mem_dup(w->message);
        o->spawn_blame = (enum err_blame)blame;
    }
    return outcome_status(o) == 0 || json_get(from, "weight");
}

static bool read_outcome(const cJSON *from, int64_t ahead_ms, struct outcome *o)
{
    for (size_t i = 0; i < LENGTH(fields); i++)
        if (!read_field(from, &fields[i], ahead_ms, o))
            return false;
    return read_evidence(from, ahead_ms, o);
}

static bool read_memory(const cJSON *from, struct memory_facts *memory)
{
    long kills, limit;
    auto_free char *why = NULL;

    if (!read_text(from, "why", sizeof(memory->why) - 1, &why) ||
        !read_number(from, "oom_kills", 0, LONG_MAX, &kills) ||
        !read_number(from, "limit", 0, LONG_MAX, &limit))
        return false;
    memory->readable = cJSON_IsTrue(json_get(from, "readable"));
    memory->oom_kills = kills;
    memory->limit = limit;
    memcpy(memory->why, why, strlen(why) + 1);
    return true;
}

struct testimony *testimony_read(const cJSON *body, const char *host, int64_t ahead_ms,
                                 struct err *err)
{
    const cJSON *list = json_get(body, LIST);
    int n = cJSON_IsArray(list) ? cJSON_GetArraySize(list) : -1;
    struct testimony *t = mem_zero(sizeof(*t));
    bool good = n >= 0 && n <= OUTCOMES_MAX && read_memory(json_get(body, "memory"), &t->memory);
    const cJSON *one = good ? list->child : NULL;

    t->host = mem_dup(host);
    t->early_final = cJSON_IsTrue(json_get(body, TESTIMONY_EARLY));
    t->outcomes = mem_zero((size_t)(good ? n : 0) * sizeof(*t->outcomes) + 1);
    for (; one; one = one->next) {
        struct outcome *o = &t->outcomes[t->n++];

        o->host = t->host;
        o->memory = &t->memory;
        good = good && read_outcome(one, ahead_ms, o);
    }
    if (good)
        return t;
    (void)err_set(err, BLAME_HOST, -EBADMSG, "the report of %s is not as it should be", host);
    testimony_free(t);
    return NULL;
}

void testimony_free(struct testimony *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->n; i++) {
        free((char *)t->outcomes[i].step);
        free((char *)t->outcomes[i].program);
        outcome_done(&t->outcomes[i]);
    }
    free(t->outcomes);
    free(t->host);
    free(t);
}
