/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "base/err.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    int status;
} blames[] = {
    [BLAME_NONE] = {"none",          0 },
    [BLAME_USER] = {"user",          1 },
    [BLAME_CONFIG] = {"configuration", 65},
    [BLAME_PLATFORM] = {"platform",      71},
    [BLAME_SELF] = {"launcher",      70},
    [BLAME_HOST] = {"host",          69},
};

/* Takes back the first bytes of a character that the end of the buffer has cut. */
static void trim_cut_character(char *text)
{
    size_t n = strlen(text);
    size_t back = 0;

    while (back < 4 && back < n && ((unsigned char)text[n - 1 - back] & 0xc0) == 0x80)
        back++;
    if (back < n && (unsigned char)text[n - 1 - back] >= 0xc0)
        text[n - 1 - back] = '\0';
}

static void set_text(struct err *err, const char *format, va_list args)
{
    int want = vsnprintf(err->text, sizeof(err->text), format, args);

    if (want >= (int)sizeof(err->text))
        trim_cut_character(err->text);
}

int err_set(struct err *err, enum err_blame blame, int code, const char *format, ...)
{
    va_list args;

    assert(code < 0);
    if (!err)
        return code;
    err->blame = blame;
    err->code = code;
    va_start(args, format);
    set_text(err, format, args);
    va_end(args);
    return code;
}

int err_wrap(struct err *err, const char *format, ...)
{
    char inner[sizeof(err->text)];
    size_t used;
    va_list args;

    memcpy(inner, err->text, sizeof(inner));
    va_start(args, format);
    set_text(err, format, args);
    va_end(args);
    used = strlen(err->text);
    if (snprintf(err->text + used, sizeof(err->text) - used, ": %s", inner) >=
        (int)(sizeof(err->text) - used))
        trim_cut_character(err->text);
    return err->code;
}

const char *err_blame_name(enum err_blame blame)
{
    return blames[blame].name;
}

int err_status(enum err_blame blame)
{
    return blames[blame].status;
}
