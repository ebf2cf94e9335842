/* SPDX-License-Identifier: Apache-2.0
 *
 * clock - the only clock of the project. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H
#include <stddef.h>
#include <stdint.h>

uint64_t clock_ms(void); /* CLOCK_MONOTONIC */
/* Milliseconds since 1970. */
uint64_t clock_wall_ms(void);
/* `wall_ms` as "2026-01-31T23:59:59.123Z"; `size` at least 25. Returns `text`. */
const char *clock_text(uint64_t wall_ms, char *text, size_t size);
#endif
