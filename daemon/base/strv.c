/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "base/strv.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"

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

/* Owns `text` from now on; `at` is the entry that it replaces, -1 for none. */
static void put(struct strv *s, long at, char *text)
{
    if (at < 0) {
        add_owned(s, text);
        return;
    }
    free(s->v[at]);
    s->v[at] = text;
}

void strv_env_set(struct strv *s, const char *name, const char *value)
{
    char *text = mem_printf("%s=%s", name, value); /* `value` may be part of the old one */

    put(s, env_index(s, name), text);
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

static size_t *slot_of(const struct strv_index *x, const char *name, size_t n)
{
    uint64_t hash = 14695981039346656037U; /* FNV-1a */
    size_t at;

    for (size_t i = 0; i < n; i++)
        hash = (hash ^ (unsigned char)name[i]) * 1099511628211U;
    for (at = hash & (x->size - 1); x->slots[at]; at = (at + 1) & (x->size - 1)) {
        const char *entry = x->env->v[x->slots[at] - 1];

        if (strncmp(entry, name, n) == 0 && entry[n] == '=')
            break;
    }
    return &x->slots[at];
}

static void learn_rest(struct strv_index *x)
{
    if (x->size < 2 * x->env->n || !x->size) {
        for (x->size = 64; x->size < 4 * x->env->n;)
            x->size *= 2;
        free(x->slots);
        x->slots = mem_zero(x->size * sizeof(*x->slots));
        x->known = 0;
    }
    for (; x->known < x->env->n; x->known++) {
        const char *entry = x->env->v[x->known];
        size_t n = strcspn(entry, "=");
        size_t *slot = slot_of(x, entry, n);

        if (entry[n] && !*slot)
            *slot = x->known + 1;
    }
}

long strv_index_find(struct strv_index *x, const char *name, size_t n)
{
    learn_rest(x);
    return (long)*slot_of(x, name, n) - 1;
}

void strv_index_set(struct strv_index *x, const char *name, const char *value)
{
    long at = strv_index_find(x, name, strlen(name));

    put(x->env, at, mem_printf("%s=%s", name, value));
}

void strv_index_done(struct strv_index *x)
{
    free(x->slots);
    *x = (struct strv_index){0};
}

void strv_env_merge(struct strv *s, const struct strv *more)
{
    auto_strv_index struct strv_index index = {.env = s};

    for (size_t i = 0; i < more->n; i++) {
        const char *entry = more->v[i];
        size_t n = strcspn(entry, "=");

        if (entry[n])
            put(s, strv_index_find(&index, entry, n), mem_dup(entry));
    }
}
