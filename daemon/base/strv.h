/* SPDX-License-Identifier: Apache-2.0
 *
 * strv - NULL-ended vectors of strings: argument vectors, environments, host lists.
 *
 * Strings are copied in. {0} is an empty vector. Owner: strv_done(). */
#ifndef BASE_STRV_H
#define BASE_STRV_H
#include <stdbool.h>
#include <stddef.h>

struct strv {
    char **v; /* NULL-ended, or NULL while empty: use strv_list() to pass it on */
    size_t n;
    size_t cap;
};

void strv_add(struct strv *s, const char *text);
void strv_addf(struct strv *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
void strv_add_all(struct strv *s, const struct strv *more);
void strv_done(struct strv *s);
/* NULL-ended, never NULL. Borrowed until the next change. */
char *const *strv_list(const struct strv *s);
/* Index of the first string equal to `text`, -1 if there is none. */
long strv_find(const struct strv *s, const char *text);
bool strv_has(const struct strv *s, const char *text);
/* All strings with `between` between them, to free(). */
char *strv_join(const struct strv *s, const char *between);

/* The vector as an environment of NAME=VALUE. */
const char *strv_env(const struct strv *s, const char *name);           /* NULL: not set */
void strv_env_set(struct strv *s, const char *name, const char *value); /* place kept */
void strv_env_unset(struct strv *s, const char *name);
void strv_env_merge(struct strv *s, const struct strv *more); /* later wins */

/* The names of an environment, each found in constant time, for whoever looks up many of them.
 * Starts as {.env = vector}; it learns entries that are added or replaced meanwhile, but none may
 * be taken away. Owner: strv_index_done(). */
struct strv_index {
    struct strv *env;
    size_t *slots; /* of a hash table: index and 1, or 0 */
    size_t size;   /* a power of two */
    size_t known;  /* entries that are in there */
};
/* The place of the first n bytes of `name` in the vector; -1: not set. */
long strv_index_find(struct strv_index *x, const char *name, size_t n);
void strv_index_set(struct strv_index *x, const char *name, const char *value); /* place kept */
void strv_index_done(struct strv_index *x);

#define auto_strv_index __attribute__((cleanup(strv_index_done)))
#define auto_strv       __attribute__((cleanup(strv_done)))
#endif
