/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "core/redact_parts.h"

#define BEARER_MIN      8     /* bytes behind the word Bearer; a sentence has shorter words there */
#define NAME_LENGTH_MAX 128   /* bytes of a name that is looked for in text */
#define SIGNS           ":=," /* where url_span() and pair_span() have something to look at */
#define ALNUM           "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

/* Secrets that are known by how they look, wherever no letter or digit is in front of them. */
static const struct shape {
    const char *prefix;
    const char *letters; /* what follows */
    size_t min;          /* bytes of it */
} shapes[] = {
    {"hf_",         ALNUM,       20}, /* Hugging Face */
    {"AKIA",        ALNUM,       16}, /* AWS access keys */
    {"ASIA",        ALNUM,       16},
    {"ghp_",        ALNUM,       20}, /* GitHub */
    {"gho_",        ALNUM,       20},
    {"ghs_",        ALNUM,       20},
    {"github_pat_", ALNUM "_",   20},
    {"glpat-",      ALNUM "_-",  20}, /* GitLab */
    {"sk-",         ALNUM,       20}, /* OpenAI and the like */
    {"sk-proj-",    ALNUM "_-",  20},
    {"sk-ant-",     ALNUM "_-",  20},
    {"xoxb-",       ALNUM "-",   10}, /* Slack */
    {"xoxp-",       ALNUM "-",   10},
    {"eyJ",         ALNUM "_-.", 20}, /* a JSON web token */
};

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

/* The strength of the name that ends before text[end]; its first byte is *start. */
static enum redact_strength name_before(const char *text, size_t end, size_t *start)
{
    auto_free char *name = NULL;

    for (*start = end; *start && end - *start < NAME_LENGTH_MAX && is_name(text[*start - 1]);)
        --*start;
    name = mem_dup_n(text + *start, end - *start);
    return redact_strength(name);
}

/* The end of a value that begins at text[*from], which goes behind a quote that is there. */
static size_t value_end(const char *text, size_t *from, const char *stops)
{
    if (!is_quote(text[*from]))
        return *from + strcspn(text + *from, stops);
    ++*from;
    return quoted_end(text, *from);
}

/* Behind "Authorization:", the word that says what kind it is of. */
static size_t scheme_length(const char *text)
{
    static const char *const schemes[] = {"Bearer ", "Basic ", "Token ", "Digest "};

    for (size_t i = 0; i < LENGTH(schemes); i++)
        if (!strncasecmp(text, schemes[i], strlen(schemes[i])))
            return strlen(schemes[i]) + strspn(text + strlen(schemes[i]), " ");
    return 0;
}

static bool is_secret_span(enum redact_strength strength, const char *text, size_t from, size_t to)
{
    auto_free char *value = mem_dup_n(text + from, to - from);

    return redact_is_secret_as(strength, value);
}

/* "token: x" may stand in any sentence: a weak name wants a value with digits or capitals in it. */
static bool looks_made(const char *text, size_t n)
{
    bool odd = false;

    for (size_t i = 0; i < n; i++)
        odd = odd || isdigit((unsigned char)text[i]) || (i && isupper((unsigned char)text[i]));
    return odd && n >= REDACT_DIGITS_MIN;
}

/* NAME: value, as logs and YAML have it. A name within a path or a longer word is none. */
static bool line_span(const char *text, size_t at, size_t *from, size_t *to)
{
    size_t start, scheme;
    enum redact_strength strength = name_before(text, at, &start);

    if (strength < REDACT_WEAK || (start && !strchr(" \t\r\n{[(,;\"'", text[start - 1])))
        return false;
    *from = at + 1 + strspn(text + at + 1, " ");
    scheme = scheme_length(text + *from);
    *from += scheme;
    *to = value_end(text, from, ",;[{}\"' \t\r\n");
    return is_secret_span(strength, text, *from, *to) &&
           (strength == REDACT_STRONG || scheme || looks_made(text + *from, *to - *from));
}

/* The value of a secret name: NAME=value, NAME="value", "NAME": "value", 'NAME': 7, "--NAME",
 * "value". `at` is the place of the sign between them. */
static bool pair_span(const char *text, size_t at, size_t *from, size_t *to)
{
    bool quoted = at && is_quote(text[at - 1]);
    enum redact_strength strength;
    size_t start;

    if (!quoted && text[at] != '=')
        return text[at] == ':' && line_span(text, at, from, to);
    strength = name_before(text, at - quoted, &start);
    if (strength == REDACT_OPEN || (text[at] == ',' && text[start] != '-'))
        return false;
    *from = at + 1 + strspn(text + at + 1, " ");
    if (text[at] == '=' && !is_quote(text[*from]))
        *from = at + 1;
    *to = value_end(text, from, text[at] == '=' ? ",;&\"' \t\r\n" : ",[{}] \t\r\n");
    return is_secret_span(strength, text, *from, *to);
}

/* --NAME value, with blanks between. `at` is the place of the first dash. */
static bool option_span(const char *text, size_t at, size_t *from, size_t *to)
{
    size_t end = at, start;

    if (at && !strchr(" \t\r\n\"'", text[at - 1]))
        return false;
    while (is_name(text[end]) && end - at < NAME_LENGTH_MAX)
        end++;
    *from = end + strspn(text + end, " ");
    if (*from == end || text[*from] == '-')
        return false;
    *to = value_end(text, from, "\"' \t\r\n");
    return is_secret_span(name_before(text, end, &start), text, *from, *to);
}

/* Bearer VALUE, with no name in front. `at` is the place of the B. */
static bool bearer_span(const char *text, size_t at, size_t *from, size_t *to)
{
    if (strncasecmp(text + at, "bearer ", 7) != 0)
        return false;
    *from = at + scheme_length(text + at);
    *to = *from + strspn(text + *from, ALNUM "-._~+/=");
    return *to - *from >= BEARER_MIN && looks_made(text + *from, *to - *from);
}

static bool shape_span(const char *text, size_t at, size_t *from, size_t *to)
{
    for (size_t i = 0; i < LENGTH(shapes); i++) {
        size_t n = strlen(shapes[i].prefix);
        size_t more;

        if (strncmp(text + at, shapes[i].prefix, n) != 0)
            continue;
        more = strspn(text + at + n, shapes[i].letters);
        *from = at;
        *to = at + n + more;
        if (more >= shapes[i].min)
            return true;
    }
    return false;
}

bool redact_span(const char *text, size_t at, size_t *from, size_t *to)
{
    if (text[at] == '-')
        return option_span(text, at, from, to);
    if (text[at] && strchr(SIGNS, text[at]))
        return url_span(text, at, from, to) || pair_span(text, at, from, to);
    if (!strchr("AbBehgsx", text[at]) || (at && isalnum((unsigned char)text[at - 1])))
        return false;
    return shape_span(text, at, from, to) || bearer_span(text, at, from, to);
}
