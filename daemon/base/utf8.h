/* SPDX-License-Identifier: Apache-2.0
 *
 * utf8 - UTF-8 by the book (RFC 3629: no overlong forms, no surrogates, at most U+10FFFF), and what
 * of Unicode the contract needs. Tables in unicode_tables.c are made by tests/tools/make-unicode.
 */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

/* Decodes one character of at most `n` bytes. Its length (1 to 4), or 0 where it is not UTF-8. */
size_t utf8_decode(const char *text, size_t n, uint32_t *code);
void utf8_encode(struct buf *out, uint32_t code);
/* Offset of the first byte that is not UTF-8; `n` if all is well. */
size_t utf8_check(const char *text, size_t n);
/* The number of characters in valid UTF-8. */
size_t utf8_count(const char *text, size_t n);
/* The largest length <= `want` that does not cut a character; bytes that are not UTF-8 count as
 * characters of their own. */
size_t utf8_clip(const char *text, size_t n, size_t want);
/* Appends with U+FFFD in place of bytes that are not UTF-8, as Python's errors="replace" does. */
void utf8_replace(struct buf *out, const char *text, size_t n);
/* Appends in upper case by the full mapping, Python's str.upper(). `text` must be valid. */
void utf8_upper(struct buf *out, const char *text, size_t n);
/* Python 3.11's str.isprintable() of one character. */
bool utf8_printable(uint32_t code);
#endif
