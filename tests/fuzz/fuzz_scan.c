/* SPDX-License-Identifier: Apache-2.0
 *
 * The last words of a rank: from the tail of its stderr to the failure file. */
#include "config.h"

#include "fuzz.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "core/report.h"
#include "core/scan.h"

#include <stdlib.h>
#include <string.h>

static void try_scan(const char *tail, size_t n)
{
    struct scan s;

    scan_tail(tail, n, &s);
    MUST(s.from <= s.to && s.to <= n);
    MUST(s.error_from <= s.error_to && s.error_to <= n);
    MUST(s.line_from <= s.line_to && s.line_to <= n);
    MUST(!(s.traceback && s.fatal));
    MUST(scan_rank_prefix(tail, n) <= n);
}

static void try_report(const struct outcome *o)
{
    struct verdict_input in = {.outcomes = o, .n = 2, .host = "algo-1"};
    struct verdict *v = verdict_new(&in);
    auto_free char *text = report_failure(v, &in, NULL);
    auto_free char *summary = report_summary(v, &in, NULL);
    size_t n = strlen(text);

    MUST(v->kind == VERDICT_FAILED && v->status == 3);
    MUST(n <= REPORT_MAX && utf8_check(text, n) == n);
    MUST(n <= REPORT_HEAD || utf8_check(text, REPORT_HEAD) == REPORT_HEAD);
    MUST(utf8_check(summary, strlen(summary)) == strlen(summary));
    cJSON_Delete(report_json(v, &in, NULL));
    verdict_free(v);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    auto_free char *tail = mem_dup_n((const char *)data, size);
    struct outcome o[2] = {
        {.started = true,  .ended = true, .exit_code = 3, .end_ms = 9, .error_ms = 5},
        { .rank = 1, .started = true, .ended = true, .exit_code = 3, .end_ms = 9,  .told_ms = 7},
    };

    try_scan(tail, size);
    for (size_t i = 0; i < LENGTH(o); i++) {
        o[i].last_err = o[i].last_out = tail;
        o[i].last_err_len = o[i].last_out_len = o[i].total_err = size;
        o[i].told_err_len = size / 2;
    }
    try_report(o);
    return 0;
}
