/* SPDX-License-Identifier: Apache-2.0
 *
 * What another host tells of its ranks: from its report to one verdict over all. */
#include "config.h"

#include "fuzz.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/json.h"
#include "base/utf8.h"
#include "core/report.h"
#include "core/testimony.h"

#include <errno.h>
#include <string.h>

static void must_be_utf8(const char *text)
{
    MUST(utf8_check(text, strlen(text)) == strlen(text));
}

static void try_verdict(const struct testimony *t)
{
    struct verdict_input in = {.outcomes = t->outcomes, .n = t->n, .host = "algo-1"};
    struct verdict *v = verdict_new(&in);
    auto_free char *text = report_failure(v, &in, NULL);
    auto_free char *summary = report_summary(v, &in, NULL);
    auto_json cJSON *json = report_json(v, &in, NULL);
    auto_buf struct buf written = {0};

    MUST(strlen(text) <= REPORT_MAX && strlen(summary) <= REPORT_MAX);
    must_be_utf8(text);
    must_be_utf8(summary);
    json_write(&written, json);
    MUST(v->status >= 0 && v->status <= 255);
    MUST((v->kind == VERDICT_SUCCESS) == (v->status == 0));
    verdict_free(v);
}

/* What we tell on of it is well-formed. */
static void try_again(const struct testimony *t)
{
    auto_json cJSON *body = testimony_json(t->outcomes, t->n, &t->memory, NULL);
    struct testimony *again = testimony_read(body, "algo-3", 0, NULL);

    MUST(again && again->n == t->n);
    testimony_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int64_t ahead_ms[] = {0, 1000, -1000, INT64_MAX, INT64_MIN};
    auto_json cJSON *body = json_parse_file_text((const char *)data, size, NULL);

    for (size_t i = 0; body && i < LENGTH(ahead_ms); i++) {
        struct err err = ERR_INIT;
        struct testimony *t = testimony_read(body, "algo-2", ahead_ms[i], &err);

        MUST(t || err.code == -EBADMSG);
        must_be_utf8(err.text);
        if (!t)
            continue;
        try_verdict(t);
        if (ahead_ms[i] == 0)
            try_again(t);
        testimony_free(t);
    }
    return 0;
}
