/* SPDX-License-Identifier: Apache-2.0
 *
 * redact_parts - what the files of redact share, and nobody else includes. */
#ifndef CORE_REDACT_PARTS_H
#define CORE_REDACT_PARTS_H
#include <stdbool.h>
#include <stddef.h>

#define REDACT_DIGITS_MIN 8 /* bytes of a number that may be a key or a token */

/* How sure a name makes that its value is secret. */
enum redact_strength {
    REDACT_OPEN,   /* it is not */
    REDACT_MANY,   /* tokens: a text is, a number counts something */
    REDACT_WEAK,   /* key: a short number is not */
    REDACT_STRONG, /* password: whatever it is */
};

enum redact_strength redact_strength(const char *name);
bool redact_is_secret_as(enum redact_strength strength, const char *value);

/* A secret that can be told by what stands around it, or by its look: it begins at text[*from] and
 * ends before text[*to]. `at` is the place of the first byte of what tells: a sign or a letter. */
bool redact_span(const char *text, size_t at, size_t *from, size_t *to);
#endif
