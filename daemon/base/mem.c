/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXIT_OUT_OF_MEMORY 70

static void (*failure_hook)(void);
static void *reserve;

void mem_on_failure(void (*hook)(void))
{
    failure_hook = hook;
    free(reserve);
    reserve = hook ? malloc(MEM_RESERVE) : NULL;
}

void *mem_check(void *got)
{
    void (*hook)(void) = failure_hook;
    static const char text[] = "serried: out of memory\n";

    if (got)
        return got;
    (void)!write(STDERR_FILENO, text, sizeof(text) - 1);
    if (hook) {
        mem_on_failure(NULL); /* it may run out of memory itself */
        hook();
    }
    _exit(EXIT_OUT_OF_MEMORY);
}

void *mem_zero(size_t size)
{
    return mem_check(calloc(1, size ? size : 1));
}

void *mem_grow(void *old, size_t n, size_t each)
{
    size_t bytes;

    if (__builtin_mul_overflow(n, each, &bytes))
        return mem_check(NULL);
    return mem_check(realloc(old, bytes ? bytes : 1));
}

char *mem_dup(const char *text)
{
    return text ? mem_dup_n(text, strlen(text)) : NULL;
}

char *mem_dup_n(const char *data, size_t n)
{
    char *copy = mem_grow(NULL, n + 1, 1);

    if (n)
        memcpy(copy, data, n);
    copy[n] = '\0';
    return copy;
}

char *mem_vprintf(const char *format, va_list args)
{
    char *text = NULL;

    if (vasprintf(&text, format, args) < 0)
        text = NULL;
    return mem_check(text);
}

char *mem_printf(const char *format, ...)
{
    va_list args;
    char *text;

    va_start(args, format);
    text = mem_vprintf(format, args);
    va_end(args);
    return text;
}
