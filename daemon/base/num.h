/* SPDX-License-Identifier: Apache-2.0
 *
 * num - numbers as Python writes them, and bounded reading of integers. */
#ifndef BASE_NUM_H
#define BASE_NUM_H
#include <stdbool.h>

#define NUM_FLOAT_SIZE 48 /* 25 are used; the rest keeps compilers calm */

/* Python's repr() of a float into `text` (NUM_FLOAT_SIZE bytes), with "NaN", "Infinity" and
 * "-Infinity" as its json module has them. Independent of the locale. Returns `text`. */
char *num_float(double value, char *text);
/* The double nearest to a number of JSON's grammar, infinity where it is too large. Independent of
 * the locale. */
double num_read(const char *text);
/* The whole of `text` as a decimal integer in [min, max]; signs allowed, white space not. */
bool num_integer(const char *text, long min, long max, long *out);
/* The whole of `text` as a finite decimal number in [min, max], independent of the locale. */
bool num_real(const char *text, double min, double max, double *out);
#endif
