/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "run/account.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "core/report.h"
#include "core/verdict.h"
#include "input/inputs.h"
#include "input/output.h"
#include "run/crew.h"
#include "run/peers.h"

/* Of this host, then what the others told; to free(), texts are borrowed. */
static struct outcome *all_outcomes(const struct account *a, size_t *n)
{
    size_t more = 0;
    auto_free struct outcome *others = a->many ? peers_outcomes(&more) : NULL;
    struct outcome *all = mem_zero((a->n + more + 1) * sizeof(*all));

    *n = a->n + more;
    if (a->n)
        memcpy(all, a->outcomes, a->n * sizeof(*all));
    if (more)
        memcpy(all + a->n, others, more * sizeof(*all));
    return all;
}

static void judge(const struct account *a, struct wire_message *verdict)
{
    struct err trouble = ERR_INIT;
    size_t n;
    auto_free struct outcome *outcomes = all_outcomes(a, &n);
    struct verdict_input in = {.outcomes = outcomes,
                               .n = n,
                               .stopped = a->stopped,
                               .trouble = a->refused ? &trouble : a->trouble,
                               .memory = *a->memory,
                               .host = a->trouble ? NULL : a->in->job->host,
                               .early_exit_final =
                                   a->early_final || (a->many && peers_early_final())};
    struct verdict *v;

    if (a->refused)
        (void)err_set(&trouble, a->refused->blame, -EINVAL, "%s", a->refused->text);
    v = verdict_new(&in);
    *verdict =
        (struct wire_message){.kind = WIRE_VERDICT,
                              .verdict = v->kind,
                              .status = v->status,
                              .rank = v->first && !v->first->step ? (long)v->first->rank : -1,
                              .text = report_failure(v, &in, a->in->redact),
                              .summary = report_summary(v, &in, a->in->redact),
                              .body = report_json(v, &in, a->in->redact)};
    verdict_free(v);
}

static void write_files(const struct account *a, const struct wire_message *verdict)
{
    int rc = 0;

    if (verdict->verdict == VERDICT_SUCCESS)
        rc = output_success(a->output);
    else if (verdict->verdict == VERDICT_STOPPED)
        output_stopped(a->output, verdict->body);
    else
        rc = a->output ? output_failure(a->output, verdict->text, verdict->body)
                       : output_failure_early(a->in->base, verdict->text);
    if (rc)
        log_warning("%s/output/%s: cannot be written (%s); the exit status stays %ld", a->in->base,
                    verdict->verdict == VERDICT_SUCCESS ? "success" : "failure", strerror(-rc),
                    verdict->status);
}

/* Of the rank that was first, if it ran here. */
static void show_hidden(const struct account *a, const struct wire_message *verdict)
{
    const char *host = json_string(json_get(verdict->body, "host"));

    if (verdict->rank >= 0 && host && strcmp(host, a->in->job->host) == 0)
        crew_show_hidden(a->crew, (unsigned)verdict->rank);
}

static void say_refusal(const struct account *a)
{
    auto_free char *shown = redact_text(a->in->redact, a->refused->text);

    log_error("%s", shown);
}

static void say_verdict(const struct wire_message *verdict)
{
    auto_free char *text = mem_dup(verdict->summary);

    for (char *line = text, *end; line && *line; line = end ? end + 1 : NULL) {
        end = strchr(line, '\n');
        if (end)
            *end = '\0';
        log_line(verdict->verdict == VERDICT_FAILED ? LOG_ERROR : LOG_INFO, "%s", line);
    }
}

static void publish(const struct account *a, const struct wire_message *verdict)
{
    if (a->refused)
        say_refusal(a);
    write_files(a, verdict);
    show_hidden(a, verdict);
    if (!a->refused)
        say_verdict(verdict);
}

int account_give(const struct account *a)
{
    struct wire_message verdict;
    int status;

    if (a->given) {
        publish(a, a->given);
        return (int)a->given->status;
    }
    judge(a, &verdict);
    if (a->many)
        peers_verdict(&verdict);
    publish(a, &verdict);
    status = (int)verdict.status;
    wire_message_done(&verdict);
    return status;
}
