/* SPDX-License-Identifier: Apache-2.0
 *
 * buf - a growing byte buffer with a bound.
 *
 * What would pass the bound is left out whole, and `over` says so. The bytes are NUL-ended at all
 * times once something was added; the NUL does not count. Owner: buf_done(), or buf_take(). */
#ifndef BASE_BUF_H
#define BASE_BUF_H
#include <stdbool.h>
#include <stddef.h>

struct buf {
    char *data; /* NULL until something is added */
    size_t len;
    size_t cap;
    size_t max; /* bytes; 0 for BUF_MAX_DEFAULT */
    bool over;
};

#define BUF_MAX_DEFAULT ((size_t)64 << 20)

void buf_add(struct buf *b, const void *data, size_t n);
void buf_str(struct buf *b, const char *text);
void buf_char(struct buf *b, char c);
void buf_printf(struct buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
void buf_drop_front(struct buf *b, size_t n); /* n <= len */
void buf_clear(struct buf *b);                /* keeps the memory */
void buf_done(struct buf *b);
/* The text so far, "" when empty. Borrowed until the next change. */
const char *buf_text(const struct buf *b);
/* The bytes, NUL-ended, for the caller to free(); never NULL. The buffer is empty afterwards. */
char *buf_take(struct buf *b);

#define auto_buf __attribute__((cleanup(buf_done)))
#endif
