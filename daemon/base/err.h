/* SPDX-License-Identifier: Apache-2.0
 *
 * err - what went wrong, in one sentence, and whose move it is.
 *
 * A struct err lives on the caller's stack; nothing is allocated. It is set where the fault is
 * found, wrapped on the way up, and logged once at the top. */
#ifndef BASE_ERR_H
#define BASE_ERR_H
#include <stdarg.h>

enum err_blame { BLAME_NONE, BLAME_USER, BLAME_CONFIG, BLAME_PLATFORM, BLAME_SELF, BLAME_HOST };

struct err {
    enum err_blame blame; /* heads the failure report: who can do something about it */
    int code;             /* negative errno */
    char text[512];       /* "resourceconfig.json: /hosts: expected a list, found a string" */
};

#define ERR_INIT                                                                                   \
    {                                                                                              \
        BLAME_NONE, 0, ""                                                                          \
    }

/* Sets `err` (NULL is fine) and returns `code`, which must be negative. Long text is cut at a
 * character border. */
int err_set(struct err *err, enum err_blame blame, int code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Puts "TEXT: " in front; blame and code stay. Returns err->code. */
int err_wrap(struct err *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* "user", "configuration", "platform", "launcher", "host": as the failure file's first line and
 * failure.json have it. */
const char *err_blame_name(enum err_blame blame);
/* The exit status of a job that ends for this blame: 1, 65, 71, 70, 69 (docs: Exit status). */
int err_status(enum err_blame blame);
#endif
