/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/redact.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "core/job.h"
#include "core/redact_parts.h"

#define SECRET_MIN 4 /* bytes of a text that is masked wherever it stands */
#define PLAIN_MIN  6 /* the same of a number or a word, which would take too much with it */

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

/* As `write` has it between its quotes, to free(). */
static char *inner_form(const char *secret, void (*write)(struct buf *, const cJSON *))
{
    auto_json cJSON *node = cJSON_CreateString(secret);
    auto_buf struct buf text = {0};

    write(&text, node);
    return mem_dup_n(text.data + 1, text.len - 2);
}

/* A quote that Python escapes where the other kind stands in the same text. */
static char *quoted_form(const char *repr)
{
    auto_buf struct buf text = {0};

    for (const char *at = repr; *at; at++) {
        if (*at == '\'' && (at == repr || at[-1] != '\\'))
            buf_char(&text, '\\');
        buf_char(&text, *at);
    }
    return buf_take(&text);
}

/* In JSON, in JSON within JSON, in a list that Python shows, and that within JSON. */
static void learn_quoted_forms(struct redact *r, const char *secret)
{
    auto_free char *json = inner_form(secret, json_write);
    auto_free char *repr = inner_form(secret, json_python_repr);
    auto_free char *quoted = quoted_form(repr);
    const char *const once[] = {json, repr, quoted};

    for (size_t i = 0; i < LENGTH(once); i++) {
        auto_free char *twice = inner_form(once[i], json_write);

        learn_form(r, once[i]);
        learn_form(r, twice);
    }
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
        learn_quoted_forms(r, secret);
    learn_shell_form(r, secret);
}

/* A short word is learned under a strong name only: sort_key=name would take every "name" away. */
static void learn_value(struct redact *r, const char *name, const char *value)
{
    size_t n = strlen(value);
    bool is_word = n < PLAIN_MIN && strspn(value, "abcdefghijklmnopqrstuvwxyz") == n;

    enum redact_strength strength = redact_strength(name);

    if (redact_is_secret_as(strength, value) && (!is_word || strength == REDACT_STRONG))
        redact_learn(r, value);
}

/* URLs, pairs and the like within a text. */
static void learn_text(struct redact *r, const char *text)
{
    for (size_t at = 0; text[at]; at++) {
        size_t from, to;

        if (redact_span(text, at, &from, &to)) {
            auto_free char *secret = mem_dup_n(text + from, to - from);
            const char *password =
                from >= 3 && !strncmp(text + from - 3, "://", 3) ? strchr(secret, ':') : NULL;

            redact_learn(r, password ? password + 1 : secret);
            at = to - 1;
        }
    }
}

/* `above`: a name that says that all in here is secret, or NULL. */
static void learn_tree(struct redact *r, const cJSON *node, const char *above)
{
    const char *text = json_string(node);
    const cJSON *child;

    if (!text && json_is_number(node))
        text = node->valuestring;
    if (text) {
        learn_value(r, above ? above : node->string ? node->string : "", text);
        learn_text(r, text);
    }
    if (!above && node && node->string && redact_strength(node->string) != REDACT_OPEN)
        above = redact_strength(node->string) == REDACT_MANY ? node->string : "secret";
    cJSON_ArrayForEach (child, node)
        learn_tree(r, child, above);
}

static void learn_variable(struct redact *r, const char *name, const char *value)
{
    bool is_json = value[0] == '{' || value[0] == '[';
    auto_json cJSON *tree = is_json ? json_parse(value, strlen(value), NULL) : NULL;

    learn_value(r, name, value);
    if (tree)
        learn_tree(r, tree, redact_is_secret_name(name) ? "secret" : NULL);
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
    learn_tree(r, job->hyperparameters, NULL);
    learn_tree(r, job->framework, NULL);
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

        if (!redact_span(text, at, &from, &to)) {
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
