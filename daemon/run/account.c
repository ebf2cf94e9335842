/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "run/account.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "core/report.h"
#include "core/verdict.h"
#include "input/inputs.h"
#include "input/output.h"
#include "run/crew.h"
#include "run/memory.h"

static int write_failure(const struct account *a, const struct verdict *v,
                         const struct verdict_input *in, const cJSON *json)
{
    auto_free char *text = report_failure(v, in, a->in->redact);

    return a->output ? output_failure(a->output, text, json)
                     : output_failure_early(a->in->base, text);
}

static void write_files(const struct account *a, const struct verdict *v,
                        const struct verdict_input *in)
{
    cJSON *json = v->kind == VERDICT_SUCCESS ? NULL : report_json(v, in, a->in->redact);
    int rc = 0;

    if (v->kind == VERDICT_SUCCESS)
        rc = output_success(a->output);
    else if (v->kind == VERDICT_STOPPED)
        output_stopped(a->output, json);
    else
        rc = write_failure(a, v, in, json);
    if (rc)
        log_warning("%s/output/%s: cannot be written (%s); the exit status stays %d", a->in->base,
                    v->kind == VERDICT_SUCCESS ? "success" : "failure", strerror(-rc), v->status);
    cJSON_Delete(json);
}

static void say_refusal(const struct account *a)
{
    auto_free char *shown = redact_text(a->in->redact, a->refused->text);

    log_error("%s", shown);
}

static void say_verdict(const struct account *a, const struct verdict *v,
                        const struct verdict_input *in)
{
    auto_free char *text = report_summary(v, in, a->in->redact);

    for (char *line = text, *end; line && *line; line = end ? end + 1 : NULL) {
        end = strchr(line, '\n');
        if (end)
            *end = '\0';
        log_line(v->kind == VERDICT_FAILED ? LOG_ERROR : LOG_INFO, "%s", line);
    }
}

int account_give(const struct account *a)
{
    size_t n;
    auto_free struct outcome *outcomes = crew_outcomes(a->crew, &n);
    struct err trouble = ERR_INIT;
    struct verdict_input in = {.outcomes = outcomes,
                               .n = n,
                               .stopped = a->stopped,
                               .trouble = a->refused ? &trouble : NULL,
                               .host = a->in->job->host,
                               .early_exit_final = a->early_final};
    struct verdict *v;
    int status;

    if (a->refused)
        (void)err_set(&trouble, a->refused->blame, -EINVAL, "%s", a->refused->text);
    memory_read(a->memory, &in.memory);
    v = verdict_new(&in);
    status = v->status;
    if (a->refused)
        say_refusal(a);
    write_files(a, v, &in);
    if (v->first)
        crew_show_hidden(a->crew, v->first);
    if (!a->refused)
        say_verdict(a, v, &in);
    verdict_free(v);
    return status;
}
