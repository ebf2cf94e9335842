/* SPDX-License-Identifier: Apache-2.0
 *
 * mem - allocation that does not return NULL.
 *
 * When memory is gone the hook set by mem_on_failure() runs (the daemon's writes a failure report
 * and kills the ranks), then the process exits with status 70. All results go to free(). */
#ifndef BASE_MEM_H
#define BASE_MEM_H
#include <stdarg.h>
#include <stddef.h>

void *mem_zero(size_t size);                      /* zeroed; size 0 gives a pointer to free */
void *mem_grow(void *old, size_t n, size_t each); /* realloc to n * each bytes, overflow checked */
char *mem_dup(const char *text);                  /* NULL stays NULL */
char *mem_dup_n(const char *data, size_t n);      /* NUL-ended copy of n bytes */
char *mem_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));
char *mem_vprintf(const char *format, va_list args) __attribute__((format(printf, 1, 0)));
/* What another library has allocated: NULL ends the process as above, else it is returned. */
void *mem_check(void *got);

/* Keeps MEM_RESERVE bytes for the hook, which are free when it runs; NULL: no hook, no reserve. */
#define MEM_RESERVE ((size_t)1 << 20)
void mem_on_failure(void (*hook)(void));
#endif
