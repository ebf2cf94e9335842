/* SPDX-License-Identifier: Apache-2.0
 *
 * report - the last word of a job, as text and as JSON.
 *
 * The failure text starts with "BLAME: what, where"; its first 1,024 bytes hold the best things
 * and are valid UTF-8 when cut there (field case 25). */
#ifndef CORE_REPORT_H
#define CORE_REPORT_H
#include "core/redact.h"
#include "core/verdict.h"

#include <cjson/cJSON.h>

#define REPORT_HEAD 1024  /* bytes that the platform shows */
#define REPORT_MAX  16384 /* bytes of the whole failure text */

/* For the failure file; to free(). `redact` may be NULL. */
char *report_failure(const struct verdict *v, const struct verdict_input *in,
                     const struct redact *redact);
/* failure.json: {"version","kind","blame","status","host","rank","step","exit","signal","cause",
 * "message","help","last_lines","followers":[{"rank","host","exit","signal","message"}],
 * "followers_more","killed","memory"}; what does not apply is null; last_lines and killed (ranks)
 * are lists. Also of a stop. */
cJSON *report_json(const struct verdict *v, const struct verdict_input *in,
                   const struct redact *redact);
/* A few lines for the console: the verdict with ranks and duration, help, followers. To free(). */
char *report_summary(const struct verdict *v, const struct verdict_input *in,
                     const struct redact *redact);
#endif
