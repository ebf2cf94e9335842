/* SPDX-License-Identifier: Apache-2.0
 *
 * unicode_tables - what Python 3.11 (Unicode 14) says about characters; read by utf8.c alone.
 *
 * Both tables are sorted and their rows do not overlap. */
#ifndef BASE_UNICODE_TABLES_H
#define BASE_UNICODE_TABLES_H
#include <stddef.h>
#include <stdint.h>

struct unicode_range {
    uint32_t first, last;
};
/* Characters that str.isprintable() accepts. */
extern const struct unicode_range unicode_printables[];
extern const size_t unicode_printables_count;

/* Every step-th character of the range becomes the one as far from to[0] as it is from `first`,
 * followed by to[1] and to[2] where they are not 0. */
struct unicode_upper {
    uint32_t first, last, step;
    uint32_t to[3];
};
extern const struct unicode_upper unicode_uppers[];
extern const size_t unicode_uppers_count;
#endif
