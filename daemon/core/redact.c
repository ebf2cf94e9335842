/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/redact.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/utf8.h"
#include "core/job.h"

#include <ctype.h>
#include <float.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SECRET_MIN      4   /* bytes of a text that is masked wherever it stands */
#define PLAIN_MIN       6   /* the same of a number or a word, which would take too much with it */
#define DIGITS_MIN      8   /* digits of a number that may be a key or a token */
#define NAME_LENGTH_MAX 128 /* bytes of a name that is looked for in text */
#define WORD_SIZE       16
#define SIGNS           ":=," /* where url_span() and pair_span() have something to look at */

/* Secret wherever they stand in a name. */
static const char *const strong_parts[] = {"password", "passwd", "passphrase", "secret",
                                           "credential"};
/* Secret as a word of a name: split at what is no letter or digit, and before capitals. */
static const char *const weak_words[] = {"accesskey", "apikey", "auth", "authorization", "bearer",
                                         "creds",     "jwt",    "key",  "pass",          "pat",
                                         "private",   "pwd",    "sig",  "signature",     "token"};
/* As the last word they make a name one of something else than the secret. */
static const char *const harmless_ends[] = {"column", "columns", "count",  "dim",  "dir",
                                            "file",   "length",  "method", "name", "names",
                                            "path",   "size",    "type"};
static const char *const plain_values[] = {"true", "false", "none", "null",
                                           "yes",  "no",    "on",   "off"};

static bool is_among(const char *word, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!strcasecmp(words[i], word))
            return true;
    }
    return false;
}
#define IS_AMONG(word, words) is_among(word, words, LENGTH(words))

/* Copies the next word at *at into `word`, cut where it is too long to matter; false at the end. */
static bool next_word(const char **at, char word[WORD_SIZE])
{
    const char *c = *at;
    size_t n = 0;

    while (*c && !isalnum((unsigned char)*c))
        c++;
    if (!*c)
        return false;
    do {
        if (n < WORD_SIZE - 1)
            word[n++] = *c;
        c++;
    } while (isalnum((unsigned char)*c) &&
             !(isupper((unsigned char)c[0]) &&
               (islower((unsigned char)c[-1]) || islower((unsigned char)c[1]))));
    word[n] = '\0';
    *at = c;
    return true;
}

static bool is_strong(const char *name)
{
    for (size_t i = 0; i < LENGTH(strong_parts); i++) {
        if (strcasestr(name, strong_parts[i]))
            return true;
    }
    return false;
}

static bool is_weak(const char *name)
{
    char word[WORD_SIZE] = "";
    bool found = false;

    if (!strcmp(name, "PWD")) /* the shell's working directory */
        return false;
    while (next_word(&name, word))
        found = found || IS_AMONG(word, weak_words);
    return found && !IS_AMONG(word, harmless_ends);
}

bool redact_is_secret_name(const char *name)
{
    return is_strong(name) || is_weak(name);
}

bool redact_is_secret(const char *name, const char *value)
{
    double number;

    if (!*value || IS_AMONG(value, plain_values))
        return false;
    if (strlen(value) < DIGITS_MIN && num_real(value, -DBL_MAX, DBL_MAX, &number))
        return is_strong(name);
    return redact_is_secret_name(name);
}

/* The texts, sorted by their first SECRET_MIN bytes, longer ones first among equals. */
struct redact {
    char **v;
    size_t n;
};

struct redact *redact_new(void)
{
    return mem_zero(sizeof(struct redact));
}

void redact_free(struct redact *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->n; i++)
        free(r->v[i]);
    free(r->v);
    free(r);
}

/* The place of the first text whose beginning is that of `text` or comes after it. */
static size_t find(const struct redact *r, const char *text)
{
    size_t low = 0, high = r->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (strncmp(r->v[middle], text, SECRET_MIN) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void learn_form(struct redact *r, const char *text)
{
    size_t n = strlen(text);
    size_t at = find(r, text);

    for (; at < r->n && !strncmp(r->v[at], text, SECRET_MIN); at++) {
        if (!strcmp(r->v[at], text))
            return;
        if (strlen(r->v[at]) < n)
            break;
    }
    r->v = mem_grow(r->v, r->n + 1, sizeof(*r->v));
    memmove(r->v + at + 1, r->v + at, (r->n - at) * sizeof(*r->v));
    r->v[at] = mem_dup(text);
    r->n++;
}

/* As it stands between the quotes of a JSON string. */
static void learn_json_form(struct redact *r, const char *secret)
{
    auto_json cJSON *node = cJSON_CreateString(secret);
    auto_buf struct buf text = {0};
    auto_free char *inner = NULL;

    json_write(&text, node);
    inner = mem_dup_n(text.data + 1, text.len - 2);
    learn_form(r, inner);
}

static void learn_shell_form(struct redact *r, const char *secret)
{
    auto_buf struct buf text = {0};

    for (; *secret; secret++) {
        if (*secret == '\'')
            buf_str(&text, "'\\''");
        else
            buf_char(&text, *secret);
    }
    learn_form(r, buf_text(&text));
}

void redact_learn(struct redact *r, const char *secret)
{
    size_t n = strlen(secret);

    if (n < SECRET_MIN || (n < PLAIN_MIN && strspn(secret, "0123456789.") == n))
        return;
    learn_form(r, secret);
    if (utf8_check(secret, n) == n)
        learn_json_form(r, secret);
    learn_shell_form(r, secret);
}

/* A short word is learned under a strong name only: sort_key=name would take every "name" away. */
static void learn_value(struct redact *r, const char *name, const char *value)
{
    size_t n = strlen(value);
    bool is_word = n < PLAIN_MIN && strspn(value, "abcdefghijklmnopqrstuvwxyz") == n;

    if (redact_is_secret(name, value) && (!is_word || is_strong(name)))
        redact_learn(r, value);
}

/* What stands between "://" and "@". `at` is the place of the colon. */
static bool url_span(const char *text, size_t at, size_t *from, size_t *to)
{
    size_t host;

    if (strncmp(text + at, "://", 3) != 0)
        return false;
    *from = at + 3;
    for (host = *from + strcspn(text + *from, "/?#\\<>\"' \t\r\n"); host > *from; host--) {
        if (text[host - 1] == '@')
            break;
    }
    *to = host - 1;
    return host > *from + 1;
}

static bool is_quote(char c)
{
    return c == '"' || c == '\'';
}

static bool is_name(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.';
}

/* Where the quoted text that begins at text[from] ends; the quote is in front of it. */
static size_t quoted_end(const char *text, size_t from)
{
    const char quote = text[from - 1];

    while (text[from] && text[from] != quote)
        from += text[from] == '\\' && text[from + 1] ? 2 : 1;
    return from;
}

/* The value of a secret name: NAME=value, NAME="value", "NAME": "value", 'NAME': 7, "--NAME",
 * "value". `at` is the place of the sign between them. */
static bool pair_span(const char *text, size_t at, size_t *from, size_t *to)
{
    bool quoted = at && is_quote(text[at - 1]);
    size_t end = at - quoted, start = end;
    auto_free char *name = NULL, *value = NULL;

    if (!quoted && text[at] != '=')
        return false;
    while (start && end - start < NAME_LENGTH_MAX && is_name(text[start - 1]))
        start--;
    name = mem_dup_n(text + start, end - start);
    if (!redact_is_secret_name(name) || (text[at] == ',' && *name != '-'))
        return false;
    *from = at + 1 + strspn(text + at + 1, " ");
    if (is_quote(text[*from])) {
        ++*from;
        *to = quoted_end(text, *from);
    } else if (text[at] == '=') {
        *from = at + 1;
        *to = *from + strcspn(text + *from, ",;&\"' \t\r\n");
    } else {
        *to = *from + strcspn(text + *from, ",[{}] \t\r\n");
    }
    value = mem_dup_n(text + *from, *to - *from);
    return redact_is_secret(name, value);
}

/* URLs and pairs within a text. */
static void learn_text(struct redact *r, const char *text)
{
    for (size_t at = strcspn(text, SIGNS); text[at]; at += 1 + strcspn(text + at + 1, SIGNS)) {
        size_t from, to;
        bool url = url_span(text, at, &from, &to);

        if (url || pair_span(text, at, &from, &to)) {
            auto_free char *secret = mem_dup_n(text + from, to - from);
            const char *password = url ? strchr(secret, ':') : NULL;

            redact_learn(r, password ? password + 1 : secret);
            at = to - 1;
        }
    }
}

/* `secret`: a name above says that all in here is. */
static void learn_tree(struct redact *r, const cJSON *node, bool secret)
{
    const char *text = json_string(node);
    const cJSON *child;

    if (!text && json_is_number(node))
        text = node->valuestring;
    if (text) {
        const char *name = secret ? "secret" : node->string ? node->string : "";

        learn_value(r, name, text);
        learn_text(r, text);
    }
    secret = secret || (node && node->string && redact_is_secret_name(node->string));
    cJSON_ArrayForEach (child, node)
        learn_tree(r, child, secret);
}

static void learn_variable(struct redact *r, const char *name, const char *value)
{
    bool is_json = value[0] == '{' || value[0] == '[';
    auto_json cJSON *tree = is_json ? json_parse(value, strlen(value), NULL) : NULL;

    learn_value(r, name, value);
    if (tree)
        learn_tree(r, tree, redact_is_secret_name(name));
    else
        learn_text(r, value);
}

void redact_learn_job(struct redact *r, const struct job *job)
{
    for (size_t i = 0; i < job->container.n; i++) {
        const char *equals = strchr(job->container.v[i], '=');
        auto_free char *name = NULL;

        if (!equals)
            continue;
        name = mem_dup_n(job->container.v[i], (size_t)(equals - job->container.v[i]));
        learn_variable(r, name, equals + 1);
    }
    learn_tree(r, job->hyperparameters, false);
    learn_tree(r, job->framework, false);
}

/* The length of the longest secret at the start of `text`, 0 if there is none. */
static size_t match(const struct redact *r, const char *text)
{
    for (size_t i = find(r, text); i < r->n && !strncmp(r->v[i], text, SECRET_MIN); i++) {
        size_t n = strlen(r->v[i]);

        if (!strncmp(r->v[i], text, n))
            return n;
    }
    return 0;
}

char *redact_text(const struct redact *r, const char *text)
{
    auto_buf struct buf out = {0};
    size_t kept = 0, at = 0;

    if (!r)
        return mem_dup(text);
    while (text[at]) {
        size_t from = at, to = at;

        if (!(strchr(SIGNS, text[at]) &&
              (url_span(text, at, &from, &to) || pair_span(text, at, &from, &to)))) {
            from = at;
            to = at + match(r, text + at);
        }
        if (to == from) {
            at++;
            continue;
        }
        buf_add(&out, text + kept, from - kept);
        buf_str(&out, REDACT_MASK);
        at = kept = to;
    }
    buf_str(&out, text + kept);
    return buf_take(&out);
}

char *redact_value(const struct redact *r, const char *name, const char *value)
{
    return r && redact_is_secret(name, value) ? mem_dup(REDACT_MASK) : redact_text(r, value);
}
