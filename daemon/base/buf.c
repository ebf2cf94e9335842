/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "base/buf.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"

static bool make_room(struct buf *b, size_t n)
{
    size_t max = b->max ? b->max : BUF_MAX_DEFAULT;
    size_t cap = b->cap ? b->cap : 64;

    if (n > max - b->len) {
        b->over = true;
        return false;
    }
    while (cap <= b->len + n)
        cap *= 2;
    if (cap != b->cap)
        b->data = mem_grow(b->data, cap, 1);
    b->cap = cap;
    return true;
}

void buf_add(struct buf *b, const void *data, size_t n)
{
    if (!make_room(b, n))
        return;
    if (n)
        memcpy(b->data + b->len, data, n);
    b->len += n;
    b->data[b->len] = '\0';
}

void buf_str(struct buf *b, const char *text)
{
    buf_add(b, text, strlen(text));
}

void buf_char(struct buf *b, char c)
{
    buf_add(b, &c, 1);
}

void buf_printf(struct buf *b, const char *format, ...)
{
    auto_free char *text = NULL;
    va_list args;

    va_start(args, format);
    text = mem_vprintf(format, args);
    va_end(args);
    buf_str(b, text);
}

void buf_drop_front(struct buf *b, size_t n)
{
    if (!n)
        return;
    b->len -= n;
    memmove(b->data, b->data + n, b->len + 1);
}

void buf_clear(struct buf *b)
{
    b->len = 0;
    b->over = false;
    if (b->data)
        b->data[0] = '\0';
}

void buf_done(struct buf *b)
{
    free(b->data);
    b->data = NULL;
    b->len = b->cap = 0;
}

const char *buf_text(const struct buf *b)
{
    return b->data ? b->data : "";
}

char *buf_take(struct buf *b)
{
    char *data = b->data ? TAKE(b->data) : mem_dup("");

    b->len = b->cap = 0;
    return data;
}
