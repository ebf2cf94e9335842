/* SPDX-License-Identifier: Apache-2.0
 *
 * findings - all that is to be said about a job's inputs, in the order it was found.
 *
 * A fatal finding means that the job cannot run as it is; the others are warnings. `serry check`
 * shows all of them, the daemon logs the warnings and fails for the first fatal one. Every text
 * names file, place, what was expected and what was found, and is UTF-8. Owner: findings_done(). */
#ifndef CORE_FINDINGS_H
#define CORE_FINDINGS_H
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct finding {
    enum err_blame blame;
    bool fatal;
    char *text;
};

struct findings {
    struct finding *v;
    size_t n;
    size_t cap;
};

void findings_fatal(struct findings *f, enum err_blame blame, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void findings_err(struct findings *f, const struct err *err); /* a fatal one */
/* The same warning text is taken once. */
void findings_warn(struct findings *f, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The first fatal finding, NULL if the job can run. Borrowed until the next change. */
const struct finding *findings_first_fatal(const struct findings *f);
void findings_done(struct findings *f);
#endif
