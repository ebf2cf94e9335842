/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "base/strv.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/mem.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static void add_owned(struct strv *s, char *text)
{
    if (s->n + 1 >= s->cap) {
        s->cap = s->cap ? s->cap * 2 : 8;
        s->v = mem_grow(s->v, s->cap, sizeof(*s->v));
    }
    s->v[s->n++] = text;
    s->v[s->n] = NULL;
}

void strv_add(struct strv *s, const char *text)
{
    add_owned(s, mem_dup(text));
}

void strv_addf(struct strv *s, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    add_owned(s, mem_vprintf(format, args));
    va_end(args);
}

void strv_add_all(struct strv *s, const struct strv *more)
{
    for (size_t i = 0; i < more->n; i++)
        strv_add(s, more->v[i]);
}

void strv_done(struct strv *s)
{
    for (size_t i = 0; i < s->n; i++)
        free(s->v[i]);
    free(s->v);
    *s = (struct strv){0};
}

char *const *strv_list(const struct strv *s)
{
    static char *const empty[] = {NULL};

    return s->v ? s->v : empty;
}

long strv_find(const struct strv *s, const char *text)
{
    for (size_t i = 0; i < s->n; i++)
        if (strcmp(s->v[i], text) == 0)
            return (long)i;
    return -1;
}

bool strv_has(const struct strv *s, const char *text)
{
    return strv_find(s, text) >= 0;
}

char *strv_join(const struct strv *s, const char *between)
{
    struct buf b = {0};

    for (size_t i = 0; i < s->n; i++) {
        if (i)
            buf_str(&b, between);
        buf_str(&b, s->v[i]);
    }
    return buf_take(&b);
}

static long env_index(const struct strv *s, const char *name)
{
    size_t n = strlen(name);

    for (size_t i = 0; i < s->n; i++)
        if (strncmp(s->v[i], name, n) == 0 && s->v[i][n] == '=')
            return (long)i;
    return -1;
}

const char *strv_env(const struct strv *s, const char *name)
{
    long i = env_index(s, name);

    return i < 0 ? NULL : s->v[i] + strlen(name) + 1;
}

void strv_env_set(struct strv *s, const char *name, const char *value)
{
    long i = env_index(s, name);
    char *text = mem_printf("%s=%s", name, value); /* `value` may be part of the old one */

    if (i < 0) {
        add_owned(s, text);
        return;
    }
    free(s->v[i]);
    s->v[i] = text;
}

void strv_env_unset(struct strv *s, const char *name)
{
    long i = env_index(s, name);

    if (i < 0)
        return;
    free(s->v[i]);
    memmove(s->v + i, s->v + i + 1, (s->n - (size_t)i) * sizeof(*s->v));
    s->n--;
}

void strv_env_merge(struct strv *s, const struct strv *more)
{
    for (size_t i = 0; i < more->n; i++) {
        const char *equals = strchr(more->v[i], '=');
        auto_free char *name = NULL;

        if (!equals)
            continue;
        name = mem_dup_n(more->v[i], (size_t)(equals - more->v[i]));
        strv_env_set(s, name, equals + 1);
    }
}
