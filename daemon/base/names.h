/* SPDX-License-Identifier: Apache-2.0
 *
 * names - words and how near they are to each other. */
#ifndef BASE_NAMES_H
#define BASE_NAMES_H
#include <stddef.h>

/* Edits (insert, delete, replace, swap of neighbours) that turn `a` into `b`; case counts. */
size_t names_distance(const char *a, const char *b);
/* The nearest of `count` names to `word` if it is near enough to be a slip of the pen (at most a
 * third of the longer one's length, and at most 4 edits); NULL otherwise. */
const char *names_nearest(const char *word, const char *const *names, size_t count);
#endif
