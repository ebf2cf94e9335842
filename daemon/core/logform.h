/* SPDX-License-Identifier: Apache-2.0
 *
 * logform - how a rank's line looks on the console: its prefix, or the JSON object it becomes.
 *
 * Pure. Source: docs/contract.md, section 14; settings log.prefix, log.format, log.ranks. */
#ifndef CORE_LOGFORM_H
#define CORE_LOGFORM_H
#include <stdbool.h>
#include <stddef.h>

struct buf;

struct logform_who {
    const char *host;
    unsigned rank, local_rank;
    const char *step; /* shown in place of the rank; NULL: a rank */
    bool is_err;
};

/* What stands in front of each line, to free(). `format` is the setting: "off", "auto" for
 * "[algo-1:3] " if `labelled` and nothing if not, else a text in which {host}, {rank}, {local_rank}
 * and {stream} are replaced. It is taken as it is: a blank after it must be in it. */
char *logform_prefix(const char *format, bool labelled, const struct logform_who *who);
/* Whether the list ("all", "0,2-5") has the rank. */
bool logform_shows(const char *ranks, unsigned rank);
/* Appends {"time":...,"host":...,"rank":3,"stream":"stdout","line":...} and a line end; a step has
 * "step":NAME in place of "rank". Bytes that are not UTF-8 become U+FFFD. A piece of a line that is
 * too long has "cut":true if the line goes on in the next one. */
void logform_json(struct buf *out, const struct logform_who *who, const char *time,
                  const char *line, size_t n, bool cut);
#endif
