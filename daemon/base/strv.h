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

#define auto_strv __attribute__((cleanup(strv_done)))
#endif
