/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/utf8.h"

/* Trees are bounded where they are read, and no output is more than six times its tree. */
#define TEXT_MAX ((size_t)1 << 30)

/* How a tree becomes text. */
struct style {
    const char *comma, *colon;
    bool sorted;
    const char *null, *yes, *no;
    void (*string)(struct buf *out, const char *text);
    const char *(*number)(const char *text); /* NULL: as it is */
};

/* Reads a character of a tree's string: also the C0 80 and ED A0..BF xx of json.h. What else is not
 * UTF-8 is U+FFFD. Returns the bytes read, 0 at the end. */
static size_t next_code(const char *text, uint32_t *code)
{
    const unsigned char *bytes = (const unsigned char *)text;
    size_t n = utf8_decode(text, strnlen(text, 4), code);

    if (!*text || n)
        return *text ? n : 0;
    if (bytes[0] == 0xc0 && bytes[1] == 0x80) {
        *code = 0;
        return 2;
    }
    if (bytes[0] == 0xed && (bytes[1] & 0xe0) == 0xa0 && (bytes[2] & 0xc0) == 0x80) {
        *code = 0xd000U | (bytes[1] & 0x3fU) << 6 | (bytes[2] & 0x3fU);
        return 3;
    }
    *code = 0xfffd;
    return 1;
}

static void write_escape(struct buf *out, char letter)
{
    buf_char(out, '\\');
    buf_char(out, letter);
}

/* `mark` and `digits` hexadecimal digits. */
static void write_hex(struct buf *out, const char *mark, uint32_t code, size_t digits)
{
    char text[8];

    for (size_t i = digits; i-- > 0; code >>= 4)
        text[i] = "0123456789abcdef"[code & 0xf];
    buf_str(out, mark);
    buf_add(out, text, digits);
}

static void write_json_code(struct buf *out, uint32_t code)
{
    static const char plain[] = "\"\\\n\r\t\f\b";
    static const char letters[] = "\"\\nrtfb";
    const char *found = code && code < 0x80 ? strchr(plain, (int)code) : NULL;

    if (found)
        write_escape(out, letters[found - plain]);
    else if (code >= ' ' && code <= '~')
        buf_char(out, (char)code);
    else if (code < 0x10000)
        write_hex(out, "\\u", code, 4);
    else {
        write_hex(out, "\\u", 0xd800 + ((code - 0x10000) >> 10), 4);
        write_hex(out, "\\u", 0xdc00 + ((code - 0x10000) & 0x3ff), 4);
    }
}

static void write_json_string(struct buf *out, const char *text)
{
    uint32_t code = 0;

    buf_char(out, '"');
    for (size_t n; (n = next_code(text, &code)); text += n)
        write_json_code(out, code);
    buf_char(out, '"');
}

static void write_python_code(struct buf *out, uint32_t code, char quote)
{
    static const char plain[] = "\\\n\r\t";
    static const char letters[] = "\\nrt";
    const char *found = code && code < 0x80 ? strchr(plain, (int)code) : NULL;

    if (found)
        write_escape(out, letters[found - plain]);
    else if (code == (unsigned char)quote)
        write_escape(out, quote);
    else if (utf8_printable(code))
        utf8_encode(out, code);
    else if (code < 0x100)
        write_hex(out, "\\x", code, 2);
    else if (code < 0x10000)
        write_hex(out, "\\u", code, 4);
    else
        write_hex(out, "\\U", code, 8);
}

static void write_python_string(struct buf *out, const char *text)
{
    char quote = strchr(text, '\'') && !strchr(text, '"') ? '"' : '\'';
    uint32_t code = 0;

    buf_char(out, quote);
    for (size_t n; (n = next_code(text, &code)); text += n)
        write_python_code(out, code, quote);
    buf_char(out, quote);
}

static const char *python_number(const char *text)
{
    return strcmp(text, "NaN") == 0         ? "nan"
           : strcmp(text, "Infinity") == 0  ? "inf"
           : strcmp(text, "-Infinity") == 0 ? "-inf"
                                            : text;
}

static const struct style contract_style = {
    ",", ":", true, "null", "true", "false", write_json_string, NULL};
static const struct style default_style = {
    ", ", ": ", false, "null", "true", "false", write_json_string, NULL};
static const struct style repr_style = {
    ", ", ": ", false, "None", "True", "False", write_python_string, python_number};

static void write_node(struct buf *out, const cJSON *node, const struct style *style);

static void write_member(struct buf *out, const cJSON *node, bool first, const struct style *style)
{
    if (!first)
        buf_str(out, style->comma);
    style->string(out, node->string);
    buf_str(out, style->colon);
    write_node(out, node, style);
}

static void write_members(struct buf *out, const cJSON *object, const struct style *style)
{
    size_t n = 0;
    auto_free struct json_member *members = style->sorted ? json_sorted(object, &n) : NULL;
    const cJSON *node;

    for (size_t i = 0; i < n; i++)
        write_member(out, members[i].node, i == 0, style);
    if (!style->sorted)
        cJSON_ArrayForEach (node, object)
            write_member(out, node, node == object->child, style);
}

static void write_node(struct buf *out, const cJSON *node, const struct style *style)
{
    const cJSON *item;

    if (cJSON_IsObject(node)) {
        buf_char(out, '{');
        write_members(out, node, style);
        buf_char(out, '}');
    } else if (cJSON_IsArray(node)) {
        buf_char(out, '[');
        cJSON_ArrayForEach (item, node) {
            if (item != node->child)
                buf_str(out, style->comma);
            write_node(out, item, style);
        }
        buf_char(out, ']');
    } else if (cJSON_IsString(node)) {
        style->string(out, node->valuestring);
    } else if (json_is_number(node)) {
        buf_str(out, style->number ? style->number(node->valuestring) : node->valuestring);
    } else {
        assert(cJSON_IsBool(node) || cJSON_IsNull(node)); /* numbers are json_new_*()'s */
        buf_str(out, cJSON_IsNull(node)   ? style->null
                     : cJSON_IsTrue(node) ? style->yes
                                          : style->no);
    }
}

void json_write(struct buf *out, const cJSON *node)
{
    write_node(out, node, &contract_style);
}

void json_python_repr(struct buf *out, const cJSON *node)
{
    write_node(out, node, &repr_style);
}

char *json_python_default(const cJSON *node)
{
    struct buf out = {.max = TEXT_MAX};

    write_node(&out, node, &default_style);
    return buf_take(&out);
}

char *json_env_text(const cJSON *node)
{
    struct buf out = {.max = TEXT_MAX};

    if (cJSON_IsString(node))
        return mem_dup(node->valuestring);
    if (!cJSON_IsNull(node))
        json_write(&out, node);
    return buf_take(&out);
}

/* Python's str(): a string is itself. */
static void write_str(struct buf *out, const cJSON *node)
{
    if (cJSON_IsString(node))
        buf_str(out, node->valuestring);
    else
        json_python_repr(out, node);
}

char *json_arg_text(const cJSON *node)
{
    struct buf out = {.max = TEXT_MAX};
    size_t n = 0;
    auto_free struct json_member *members = cJSON_IsObject(node) ? json_sorted(node, &n) : NULL;

    for (size_t i = 0; i < n; i++) {
        buf_str(&out, i ? "," : "");
        buf_str(&out, members[i].node->string);
        buf_char(&out, '=');
        write_str(&out, members[i].node);
    }
    if (!members && !cJSON_IsNull(node))
        write_str(&out, node);
    return buf_take(&out);
}
