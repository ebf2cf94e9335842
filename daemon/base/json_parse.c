/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/utf8.h"

#define END (-1) /* what peek() says behind the last byte */

/* State of one json_parse(). */
struct parser {
    const char *text;
    size_t len;
    size_t at;
    int depth;         /* containers open */
    int plain_depth;   /* strings up to this depth must be plain UTF-8 text */
    size_t values;     /* so far */
    size_t odd;        /* offset + 1 of the first string that is not and would have to; else 0 */
    struct buf string; /* the last string read */
    struct err err;
};

static cJSON *parse_value(struct parser *p);

static int peek(const struct parser *p)
{
    return p->at < p->len ? (unsigned char)p->text[p->at] : END;
}

/* Steps over `c` if it is next. */
static bool accept(struct parser *p, int c)
{
    if (peek(p) != c)
        return false;
    p->at++;
    return true;
}

static void skip_space(struct parser *p)
{
    while (accept(p, ' ') || accept(p, '\t') || accept(p, '\n') || accept(p, '\r'))
        ;
}

/* Puts "line 3, column 7" of byte `at`, in characters, before what p->err says. Returns NULL. */
static cJSON *place(struct parser *p, size_t at)
{
    size_t line = 1;
    size_t start = 0;

    for (size_t i = 0; i < at; i++)
        if (p->text[i] == '\n') {
            line++;
            start = i + 1;
        }
    (void)err_wrap(&p->err, "line %zu, column %zu", line,
                   utf8_count(p->text + start, at - start) + 1);
    return NULL;
}

/* "expected `what`, found ..." at the next byte. Returns NULL. */
static cJSON *unexpected(struct parser *p, const char *what)
{
    uint32_t code = 0;
    size_t n = utf8_decode(p->text + p->at, p->len - p->at, &code);

    if (!n)
        (void)err_set(&p->err, BLAME_CONFIG, -EINVAL, "expected %s, found end of text", what);
    else if (utf8_printable(code))
        (void)err_set(&p->err, BLAME_CONFIG, -EINVAL, "expected %s, found '%.*s'", what, (int)n,
                      p->text + p->at);
    else
        (void)err_set(&p->err, BLAME_CONFIG, -EINVAL, "expected %s, found U+%04X", what,
                      (unsigned)code);
    return place(p, p->at);
}

/* A bound is passed at the next byte. Returns NULL. */
static cJSON *too_big(struct parser *p, const char *what, int max)
{
    (void)err_set(&p->err, BLAME_CONFIG, -E2BIG, "%s: at most %d are read", what, max);
    return place(p, p->at);
}

/* Four hexadecimal digits, -1 if they are not. */
static long parse_hex(struct parser *p)
{
    long value = 0;

    for (int i = 0; i < 4; i++) {
        int c = peek(p);
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;

        if (digit < 0) {
            (void)unexpected(p, "four hexadecimal digits");
            return -1;
        }
        value = value * 16 + digit;
        p->at++;
    }
    return value;
}

/* After "\u": one character, of two such escapes where they are a surrogate pair. */
static bool parse_unicode_escape(struct parser *p, size_t start)
{
    long code = parse_hex(p);
    long low;

    if (code < 0)
        return false;
    if (code >= 0xd800 && code < 0xdc00 && p->len - p->at >= 2 && p->text[p->at] == '\\' &&
        p->text[p->at + 1] == 'u') {
        size_t after_high = p->at;

        p->at += 2;
        low = parse_hex(p);
        if (low < 0)
            return false;
        if (low >= 0xdc00 && low < 0xe000)
            code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        else
            p->at = after_high;
    }
    if (!p->odd && p->depth <= p->plain_depth && (!code || (code >= 0xd800 && code < 0xe000)))
        p->odd = start + 1;
    if (code)
        utf8_encode(&p->string, (uint32_t)code);
    else
        buf_add(&p->string, "\xc0\x80", 2);
    return true;
}

static bool parse_escape(struct parser *p, size_t start)
{
    static const char names[] = "\"\\/bfnrt";
    static const char values[] = "\"\\/\b\f\n\r\t";
    int c = peek(p);
    const char *found = c > 0 ? strchr(names, c) : NULL;

    if (accept(p, 'u'))
        return parse_unicode_escape(p, start);
    if (!found) {
        (void)unexpected(p, "one of \" \\ / b f n r t u after \\");
        return false;
    }
    buf_char(&p->string, values[found - names]);
    p->at++;
    return true;
}

/* A string into p->string; the opening quote is next. */
static bool parse_string(struct parser *p)
{
    size_t start = p->at++;

    buf_clear(&p->string);
    while (!accept(p, '"')) {
        size_t from = p->at;

        while (p->at < p->len && (unsigned char)p->text[p->at] >= 0x20 && p->text[p->at] != '"' &&
               p->text[p->at] != '\\')
            p->at++;
        buf_add(&p->string, p->text + from, p->at - from);
        if (accept(p, '\\')) {
            if (!parse_escape(p, start))
                return false;
        } else if (peek(p) != '"') {
            (void)unexpected(p, "'\"' at the end of the string");
            return false;
        }
    }
    return true;
}

static size_t skip_digits(struct parser *p)
{
    size_t from = p->at;

    while (peek(p) >= '0' && peek(p) <= '9')
        p->at++;
    return p->at - from;
}

/* What of a number comes behind its whole part, if it is there and complete. */
static bool skip_fraction_and_exponent(struct parser *p)
{
    size_t from = p->at;
    size_t mantissa;

    if (accept(p, '.') && !skip_digits(p))
        p->at = from;
    mantissa = p->at;
    if (accept(p, 'e') || accept(p, 'E')) {
        if (!accept(p, '+'))
            (void)accept(p, '-');
        if (!skip_digits(p))
            p->at = mantissa;
    }
    return p->at > from;
}

static cJSON *parse_number(struct parser *p)
{
    size_t from = p->at;
    bool minus = accept(p, '-');
    auto_free char *text = NULL;
    char canonical[NUM_FLOAT_SIZE];
    bool real;

    if (!accept(p, '0') && !skip_digits(p))
        return unexpected(p, minus ? "a digit" : "a value");
    real = skip_fraction_and_exponent(p);
    text = mem_dup_n(p->text + from, p->at - from);
    if (real)
        return mem_check(cJSON_CreateRaw(num_float(num_read(text), canonical)));
    return mem_check(cJSON_CreateRaw(strcmp(text, "-0") == 0 ? "0" : text));
}

static cJSON *parse_word(struct parser *p)
{
    static const struct {
        const char *word;
        int type;
    } words[] = {
        {"null",      cJSON_NULL },
        {"true",      cJSON_True },
        {"false",     cJSON_False},
        {"NaN",       cJSON_Raw  },
        {"Infinity",  cJSON_Raw  },
        {"-Infinity", cJSON_Raw  },
    };

    for (size_t i = 0; i < LENGTH(words); i++) {
        size_t n = strlen(words[i].word);

        if (p->len - p->at < n || memcmp(p->text + p->at, words[i].word, n) != 0)
            continue;
        p->at += n;
        return mem_check(words[i].type == cJSON_Raw ? cJSON_CreateRaw(words[i].word)
                         : words[i].type == cJSON_NULL
                             ? cJSON_CreateNull()
                             : cJSON_CreateBool(words[i].type == cJSON_True));
    }
    return parse_number(p);
}

/* Steps into a container. */
static bool enter(struct parser *p)
{
    if (p->depth == JSON_DEPTH_MAX) {
        (void)too_big(p, "lists and objects within each other", JSON_DEPTH_MAX);
        return false;
    }
    p->depth++;
    p->at++;
    skip_space(p);
    return true;
}

static cJSON *parse_array(struct parser *p)
{
    auto_json cJSON *array = mem_check(cJSON_CreateArray());

    if (!enter(p))
        return NULL;
    for (bool more = !accept(p, ']'); more;) {
        cJSON *node = parse_value(p);

        if (!node)
            return NULL;
        (void)cJSON_AddItemToArray(array, node);
        skip_space(p);
        more = accept(p, ',');
        if (!more && !accept(p, ']'))
            return unexpected(p, "',' or ']'");
    }
    p->depth--;
    return TAKE(array);
}

static cJSON *parse_member(struct parser *p, const char *otherwise)
{
    auto_free char *name = NULL;
    cJSON *node;

    skip_space(p);
    if (peek(p) != '"')
        return unexpected(p, otherwise);
    if (!parse_string(p))
        return NULL;
    name = mem_dup(buf_text(&p->string));
    skip_space(p);
    if (!accept(p, ':'))
        return unexpected(p, "':'");
    node = parse_value(p);
    if (node)
        node->string = TAKE(name); /* freed by cJSON_Delete(), as if cJSON had copied it */
    return node;
}

/* Members of one name become one: in the place of the first, with the value of the last. */
static void merge_repeated(cJSON *object)
{
    size_t n = 0;
    struct json_member *members = json_sorted(object, &n);

    for (size_t first = 0, last; first < n; first = last + 1) {
        for (last = first; last + 1 < n && strcmp(members[first].node->string,
                                                  members[last + 1].node->string) == 0;)
            last++;
        if (last == first)
            continue;
        for (size_t i = first + 1; i <= last; i++)
            (void)cJSON_DetachItemViaPointer(object, members[i].node);
        for (size_t i = first + 1; i < last; i++)
            cJSON_Delete(members[i].node);
        (void)cJSON_ReplaceItemViaPointer(object, members[first].node, members[last].node);
    }
    free(members);
}

static cJSON *parse_object(struct parser *p)
{
    auto_json cJSON *object = mem_check(cJSON_CreateObject());
    int members = 0;

    if (!enter(p))
        return NULL;
    for (bool more = !accept(p, '}'); more;) {
        cJSON *node =
            parse_member(p, members ? "a name in double quotes" : "a name in double quotes or '}'");

        if (!node)
            return NULL;
        (void)cJSON_AddItemToArray(object, node); /* it has its name already */
        if (++members > JSON_MEMBERS_MAX)
            return too_big(p, "members of one object", JSON_MEMBERS_MAX);
        skip_space(p);
        more = accept(p, ',');
        if (!more && !accept(p, '}'))
            return unexpected(p, "',' or '}'");
    }
    p->depth--;
    if (members > 1)
        merge_repeated(object);
    return TAKE(object);
}

static cJSON *parse_value(struct parser *p)
{
    skip_space(p);
    if (++p->values > JSON_VALUES_MAX)
        return too_big(p, "values in one text", JSON_VALUES_MAX);
    switch (peek(p)) {
    case '{':
        return parse_object(p);
    case '[':
        return parse_array(p);
    case '"':
        return parse_string(p) ? mem_check(cJSON_CreateString(buf_text(&p->string))) : NULL;
    default:
        return parse_word(p);
    }
}

static cJSON *parse_all(struct parser *p)
{
    size_t valid = utf8_check(p->text, p->len);
    auto_json cJSON *tree = NULL;

    if (valid < p->len) {
        (void)err_set(&p->err, BLAME_CONFIG, -EILSEQ,
                      "expected UTF-8, found byte 0x%02x, offset %zu",
                      (unsigned char)p->text[valid], valid);
        return place(p, valid);
    }
    tree = parse_value(p);
    if (!tree)
        return NULL;
    skip_space(p);
    if (p->at < p->len)
        return unexpected(p, "the end of the text");
    if (p->odd) {
        (void)err_set(&p->err, BLAME_CONFIG, -EILSEQ,
                      "expected plain text, found a string with \\u0000 or half a surrogate pair");
        return place(p, p->odd - 1);
    }
    return TAKE(tree);
}

static cJSON *parse_text(const char *text, size_t len, int plain_depth, struct err *err)
{
    struct parser p = {.text = text, .len = len, .plain_depth = plain_depth, .string.max = len + 1};
    cJSON *tree = parse_all(&p);

    buf_done(&p.string);
    if (!tree && err)
        *err = p.err;
    return tree;
}

cJSON *json_parse(const char *text, size_t len, struct err *err)
{
    size_t space = 0;

    while (space < len && strchr(" \t\r\n", text[space]) && text[space])
        space++;
    return parse_text(text, len, space < len && text[space] == '{' ? 1 : 0, err);
}

cJSON *json_parse_file_text(const char *text, size_t len, struct err *err)
{
    size_t mark = len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;

    return parse_text(text + mark, len - mark, INT_MAX, err);
}
