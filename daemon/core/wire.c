/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/wire.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"

#define LENGTH_SIZE 4
#define SAY         "say"
#define TEXT_MAX    (20 << 10) /* a failure file */
#define SUMMARY_MAX (64 << 10)

enum form { FORM_TEXT, FORM_NUMBER, FORM_TIME, FORM_SWITCH, FORM_OBJECT, FORM_LIST };

static const char *const form_names[] = {
    [FORM_TEXT] = "a string",        [FORM_NUMBER] = "a whole number", [FORM_TIME] = "a time",
    [FORM_SWITCH] = "true or false", [FORM_OBJECT] = "an object",      [FORM_LIST] = "a list",
};

static const char *const kinds[WIRE_KINDS] = {
    [WIRE_HELLO] = "hello",   [WIRE_WELCOME] = "welcome", [WIRE_REFUSE] = "refuse",
    [WIRE_READY] = "ready",   [WIRE_START] = "start",     [WIRE_END] = "end",
    [WIRE_REPORT] = "report", [WIRE_VERDICT] = "verdict", [WIRE_PING] = "ping",
    [WIRE_PONG] = "pong",
};

/* Which kind has which members; of texts `max` bytes. */
static const struct row {
    enum wire_kind kind;
    enum form form;
    const char *name;
    size_t field; /* in struct wire_message */
    long min, max;
} rows[] = {
#define ROW(kind, form, name, member, min, max)                                                    \
    {                                                                                              \
        kind, form, name, offsetof(struct wire_message, member), min, max                          \
    }
    ROW(WIRE_HELLO, FORM_NUMBER, "version", version, 0, INT_MAX),
    ROW(WIRE_HELLO, FORM_TEXT, "release", release, 0, 64),
    ROW(WIRE_HELLO, FORM_TEXT, "job", job, 0, 256),
    ROW(WIRE_HELLO, FORM_TEXT, "host", host, 1, 253),
    ROW(WIRE_HELLO, FORM_NUMBER, "ranks", ranks, 0, 4096),
    ROW(WIRE_HELLO, FORM_NUMBER, "port", port, 0, 65535),
    ROW(WIRE_HELLO, FORM_OBJECT, "agree", body, 0, 0),
    ROW(WIRE_REFUSE, FORM_TEXT, "text", text, 0, TEXT_MAX),
    ROW(WIRE_REFUSE, FORM_SWITCH, "final", final, 0, 0),
    ROW(WIRE_START, FORM_LIST, "hosts", body, 0, 0),
    ROW(WIRE_END, FORM_SWITCH, "stopped", stopped, 0, 0),
    ROW(WIRE_END, FORM_TEXT, "text", text, 0, TEXT_MAX),
    ROW(WIRE_REPORT, FORM_OBJECT, "report", body, 0, 0),
    ROW(WIRE_VERDICT, FORM_NUMBER, "kind", verdict, 0, 2),
    ROW(WIRE_VERDICT, FORM_NUMBER, "status", status, 0, 255),
    ROW(WIRE_VERDICT, FORM_NUMBER, "rank", rank, -1, INT_MAX),
    ROW(WIRE_VERDICT, FORM_TEXT, "failure", text, 0, TEXT_MAX),
    ROW(WIRE_VERDICT, FORM_TEXT, "summary", summary, 0, SUMMARY_MAX),
    ROW(WIRE_VERDICT, FORM_OBJECT, "account", body, 0, 0),
    ROW(WIRE_PING, FORM_TIME, "time", time, 0, LONG_MAX),
    ROW(WIRE_PONG, FORM_TIME, "time", time, 0, LONG_MAX),
    ROW(WIRE_PONG, FORM_TIME, "mine", mine, 0, LONG_MAX),
#undef ROW
};

const char *wire_kind_name(enum wire_kind kind)
{
    return kinds[kind];
}

void wire_message_done(struct wire_message *m)
{
    free(m->release);
    free(m->job);
    free(m->host);
    free(m->text);
    free(m->summary);
    cJSON_Delete(m->body);
    *m = (struct wire_message){0};
}

/* ---- out ------------------------------------------------------------------------------------- */

static cJSON *node_of(const struct wire_message *m, const struct row *row)
{
    const void *field = (const char *)m + row->field;
    const char *text;

    switch (row->form) {
    case FORM_NUMBER:
        return json_new_integer(*(const long *)field);
    case FORM_TIME:
        return json_new_integer(*(const int64_t *)field);
    case FORM_SWITCH:
        return mem_check(cJSON_CreateBool(*(const bool *)field));
    case FORM_TEXT:
        text = *(char *const *)field;
        return mem_check(cJSON_CreateString(text ? text : ""));
    case FORM_OBJECT:
    case FORM_LIST:
        break;
    }
    return mem_check(cJSON_Duplicate(*(cJSON *const *)field, true));
}

static void put_length(unsigned char out[LENGTH_SIZE], size_t n)
{
    for (size_t i = 0; i < LENGTH_SIZE; i++)
        out[i] = (unsigned char)(n >> (8 * (LENGTH_SIZE - 1 - i)));
}

int wire_encode(const struct wire_message *m, struct buf *out)
{
    auto_json cJSON *tree = mem_check(cJSON_CreateObject());
    auto_buf struct buf text = {.max = WIRE_FRAME_MAX};
    unsigned char length[LENGTH_SIZE];

    json_add_string(tree, SAY, kinds[m->kind]);
    for (size_t i = 0; i < LENGTH(rows); i++)
        if (rows[i].kind == m->kind)
            json_add(tree, rows[i].name, node_of(m, &rows[i]));
    json_write(&text, tree);
    if (text.over)
        return -EMSGSIZE;
    put_length(length, text.len);
    buf_add(out, length, sizeof(length));
    buf_add(out, text.data, text.len);
    return 0;
}

/* ---- in -------------------------------------------------------------------------------------- */

static bool take(struct wire_message *m, const struct row *row, const cJSON *node)
{
    void *field = (char *)m + row->field;
    const char *text = json_string(node);
    long number;

    switch (row->form) {
    case FORM_TEXT:
        if (!text || strlen(text) < (size_t)row->min || strlen(text) > (size_t)row->max)
            return false;
        *(char **)field = mem_dup(text);
        return true;
    case FORM_NUMBER:
        return json_integer(node, row->min, row->max, field);
    case FORM_TIME:
        if (!json_integer(node, row->min, row->max, &number))
            return false;
        *(int64_t *)field = number;
        return true;
    case FORM_SWITCH:
        *(bool *)field = cJSON_IsTrue(node);
        return cJSON_IsBool(node);
    case FORM_OBJECT:
    case FORM_LIST:
        break;
    }
    if (row->form == FORM_OBJECT ? !cJSON_IsObject(node) : !cJSON_IsArray(node))
        return false;
    *(cJSON **)field = mem_check(cJSON_Duplicate(node, true));
    return true;
}

static bool kind_of(const cJSON *tree, enum wire_kind *kind)
{
    const char *say = json_string(json_get(tree, SAY));

    for (int i = 0; say && i < WIRE_KINDS; i++) {
        if (strcmp(kinds[i], say) != 0)
            continue;
        *kind = (enum wire_kind)i;
        return true;
    }
    return false;
}

int wire_decode(const char *json, size_t n, struct wire_message *out, struct err *err)
{
    auto_json cJSON *tree = json_parse_file_text(json, n, err);
    struct wire_message m = {0};

    if (!tree)
        return err_set(err, BLAME_HOST, -EBADMSG, "a message that is not JSON");
    if (!kind_of(tree, &m.kind))
        return err_set(err, BLAME_HOST, -EBADMSG, "a message of no known kind");
    for (size_t i = 0; i < LENGTH(rows); i++) {
        const cJSON *node = json_get(tree, rows[i].name);

        if (rows[i].kind != m.kind || (node && take(&m, &rows[i], node)))
            continue;
        (void)err_set(err, BLAME_HOST, -EBADMSG,
                      "message %s: /%s: expected %s within its bounds, found %s", kinds[m.kind],
                      rows[i].name, form_names[rows[i].form], node ? json_kind(node) : "nothing");
        wire_message_done(&m);
        return -EBADMSG;
    }
    *out = m;
    return 0;
}

const char *wire_next(const struct buf *in, size_t *at, size_t *n)
{
    size_t left = in->len - *at, length = 0;
    const char *frame;

    *n = 0;
    if (left < LENGTH_SIZE)
        return NULL;
    for (size_t i = 0; i < LENGTH_SIZE; i++)
        length = length << 8 | (unsigned char)in->data[*at + i];
    if (length == 0 || length > WIRE_FRAME_MAX) {
        *n = 1;
        return NULL;
    }
    if (left - LENGTH_SIZE < length)
        return NULL;
    frame = in->data + *at + LENGTH_SIZE;
    *at += LENGTH_SIZE + length;
    *n = length;
    return frame;
}
