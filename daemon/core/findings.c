/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/findings.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/utf8.h"

/* `text`, or a copy in its place if it is not UTF-8 (a name was cut, or the environment's). */
static char *clean(char *text)
{
    size_t n = strlen(text);
    struct buf valid = {0};

    if (utf8_check(text, n) == n)
        return text;
    utf8_replace(&valid, text, n);
    free(text);
    return buf_take(&valid);
}

/* Owns `text` from now on. */
static void add(struct findings *f, bool fatal, enum err_blame blame, char *text)
{
    if (f->n == f->cap) {
        f->cap = f->cap ? f->cap * 2 : 8;
        f->v = mem_grow(f->v, f->cap, sizeof(*f->v));
    }
    f->v[f->n++] = (struct finding){.blame = blame, .fatal = fatal, .text = text};
}

void findings_fatal(struct findings *f, enum err_blame blame, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    add(f, true, blame, clean(mem_vprintf(format, args)));
    va_end(args);
}

void findings_err(struct findings *f, const struct err *err)
{
    add(f, true, err->blame, clean(mem_dup(err->text)));
}

void findings_warn(struct findings *f, const char *format, ...)
{
    auto_free char *text = NULL;
    va_list args;

    va_start(args, format);
    text = clean(mem_vprintf(format, args));
    va_end(args);
    for (size_t i = 0; i < f->n; i++)
        if (!f->v[i].fatal && strcmp(f->v[i].text, text) == 0)
            return;
    add(f, false, BLAME_NONE, TAKE(text));
}

const struct finding *findings_first_fatal(const struct findings *f)
{
    for (size_t i = 0; i < f->n; i++)
        if (f->v[i].fatal)
            return &f->v[i];
    return NULL;
}

void findings_done(struct findings *f)
{
    for (size_t i = 0; i < f->n; i++)
        free(f->v[i].text);
    free(f->v);
    *f = (struct findings){0};
}
