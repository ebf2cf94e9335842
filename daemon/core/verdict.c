/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/verdict.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "core/evidence.h"

#define STATUS_STOPPED 143
#define KILLED_MAX     32 /* named; more are counted */

static bool is_failure(const struct outcome *o)
{
    return o->lost || ((o->started || o->spawn_error) && outcome_status(o) != 0);
}

static bool goes_before(struct evidence a, struct evidence b)
{
    return a.weight != b.weight ? a.weight < b.weight : a.when < b.when;
}

/* One rank that left after a line of its own may be the cause; several show how they take a stop.
 */
static bool has_hints(const struct outcome *outcomes, size_t n)
{
    size_t hints = 0;

    for (size_t i = 0; i < n; i++)
        hints += is_failure(&outcomes[i]) && evidence_of(&outcomes[i]).weight == EVIDENCE_HINT;
    return hints == 1;
}

/* Outcomes come in the order of ranks, so that the lower one wins a tie. */
static const struct outcome *find_first(const struct outcome *outcomes, size_t n,
                                        enum evidence_weight *weight)
{
    const struct outcome *first = NULL;
    struct evidence best = {EVIDENCE_FOLLOWER, 0};
    bool hints = has_hints(outcomes, n);

    for (size_t i = 0; i < n; i++) {
        struct evidence e;

        if (!is_failure(&outcomes[i]))
            continue;
        e = evidence_of(&outcomes[i]);
        if (e.weight == EVIDENCE_HINT && !hints)
            e.weight = EVIDENCE_FOLLOWER;
        if (!first || goes_before(e, best)) {
            first = &outcomes[i];
            best = e;
        }
    }
    *weight = best.weight;
    return first;
}

const struct outcome *verdict_first(const struct outcome *outcomes, size_t n)
{
    enum evidence_weight weight;

    return find_first(outcomes, n, &weight);
}

static const struct outcome *find_early_leaver(const struct verdict_input *in)
{
    const struct outcome *first = NULL;

    for (size_t i = 0; i < in->n; i++) {
        const struct outcome *o = &in->outcomes[i];

        if (!o->step && !o->lost && o->ended && outcome_status(o) == 0 && !evidence_was_told(o) &&
            (!first || o->end_ms < first->end_ms))
            first = o;
    }
    return first;
}

char *verdict_where(const struct outcome *o)
{
    const char *host = o->host ? o->host : "this host";

    if (o->lost)
        return mem_printf("%s %s", o->leader ? "leader" : "host", host);
    if (o->step)
        return mem_printf("step %s on %s", o->step, host);
    if (o->program)
        return mem_printf("%s on %s", o->program, host);
    return mem_printf("rank %u on %s", o->rank, host);
}

static char *limit_text(long long bytes)
{
    double mib = (double)bytes / (1 << 20);

    if (bytes <= 0)
        return mem_dup("limit unknown");
    return mib < 1024 ? mem_printf("limit %.1f MiB", mib)
                      : mem_printf("limit %.1f GiB", mib / 1024);
}

/* Says "out of memory" only with the kernel's count as proof. */
static void judge_memory(struct verdict *v, const struct memory_facts *memory)
{
    const struct outcome *o = v->first;
    bool by_signal = o->signal == SIGKILL && !evidence_is_our_signal(o);
    bool killed = by_signal || (o->ended && o->exit_code == 128 + SIGKILL);
    auto_free char *limit = limit_text(memory->limit);
    char *help;

    if (memory->readable && memory->oom_kills > 0) {
        help = mem_printf("the kernel killed %ld of this job's processes for want of memory (%s)",
                          memory->oom_kills, limit);
        if (killed) {
            free(v->what);
            v->what = mem_printf("killed: out of memory, %s", limit);
        }
    } else if (!killed) {
        return;
    } else if (memory->readable) {
        help = mem_printf("no memory event was counted: %s",
                          by_signal ? "another process or the program itself sent SIGKILL"
                                    : "137 is the program's own word for SIGKILL");
    } else {
        help = mem_printf("whether memory ran out is not known: %s",
                          memory->why[0] ? memory->why : "no counter was found");
    }
    free(v->help);
    v->help = help;
}

/* The status of a failed outcome. One that we ended after its own error has none of its own. */
static int status_of(const struct outcome *o)
{
    if (!o->started && o->spawn_blame > BLAME_USER)
        return err_status(o->spawn_blame);
    return evidence_is_our_signal(o) ? err_status(BLAME_USER) : outcome_status(o);
}

static void judge_outcome(struct verdict *v, const struct outcome *o,
                          const struct memory_facts *memory)
{
    auto_free char *text = outcome_text(o);

    v->kind = VERDICT_FAILED;
    v->blame = o->lost                                      ? BLAME_HOST
               : o->started || o->spawn_blame == BLAME_NONE ? BLAME_USER
                                                            : o->spawn_blame;
    v->status = status_of(o);
    v->first = o;
    v->where = verdict_where(o);
    v->what = !o->overdue_s && evidence_is_our_signal(o)
                  ? mem_printf("failed, then ended by the launcher with %s", text)
                  : TAKE(text);
    v->message = evidence_message(o);
    v->detail = evidence_detail(o);
    if (o->overdue_s)
        v->help = mem_dup("its last lines tell how far it came; step.install_limit_s is the limit");
    else if (o->signal && !evidence_is_our_signal(o))
        v->help = mem_dup(outcome_signal_help(o->signal));
    if (!o->lost) /* what its kernel counted is lost with it */
        judge_memory(v, o->memory ? o->memory : memory);
}

static void judge_early_leaver(struct verdict *v, const struct outcome *o)
{
    v->kind = VERDICT_FAILED;
    v->blame = BLAME_USER;
    v->status = err_status(BLAME_USER);
    v->first = o;
    v->what = mem_dup("left early with exit code 0");
    v->where = verdict_where(o);
    v->message =
        mem_dup("it ended normally while other ranks went on, past the limit set for that");
}

static void judge_trouble(struct verdict *v, const struct err *trouble)
{
    v->kind = VERDICT_FAILED;
    v->blame = trouble->blame == BLAME_NONE ? BLAME_SELF : trouble->blame;
    v->status = err_status(v->blame);
    v->what = evidence_one_line(trouble->text, strlen(trouble->text));
    v->message = mem_dup(v->what);
}

static void judge_stop(struct verdict *v, const struct verdict_input *in)
{
    auto_buf struct buf killed = {0};
    size_t n = 0;

    for (size_t i = 0; i < in->n; i++) {
        auto_free char *where = verdict_where(&in->outcomes[i]);

        if (in->outcomes[i].started && in->outcomes[i].killed_ms && n++ < KILLED_MAX)
            buf_printf(&killed, "%s%s", killed.len ? ", " : "", where);
    }
    if (n > KILLED_MAX)
        buf_printf(&killed, " and %zu more", n - KILLED_MAX);
    if (killed.len)
        buf_str(&killed, " had to be killed");
    v->kind = VERDICT_STOPPED;
    v->status = STATUS_STOPPED;
    v->what = mem_dup("stopped on request");
    v->message = buf_take(&killed);
}

/* Nothing failed: proven success, or else a fault of ours (W1). */
static void judge_rest(struct verdict *v, const struct verdict_input *in)
{
    struct err fault = ERR_INIT;

    if (!in->n)
        (void)err_set(&fault, BLAME_SELF, -ENOENT, "nothing was run");
    for (size_t i = 0; i < in->n && !fault.code; i++) {
        auto_free char *where = verdict_where(&in->outcomes[i]);

        if (outcome_status(&in->outcomes[i]) != 0)
            (void)err_set(&fault, BLAME_SELF, -ENOENT, "%s was never started", where);
    }
    if (fault.code) {
        judge_trouble(v, &fault);
    } else {
        v->kind = VERDICT_SUCCESS;
        v->what = mem_dup("ended well");
    }
}

struct verdict *verdict_new(const struct verdict_input *in)
{
    struct verdict *v = mem_zero(sizeof(*v));
    enum evidence_weight weight;
    const struct outcome *first = find_first(in->outcomes, in->n, &weight);
    const struct outcome *leaver = in->early_exit_final ? find_early_leaver(in) : NULL;

    if (in->stopped)
        judge_stop(v, in);
    else if (in->trouble)
        judge_trouble(v, in->trouble);
    else if (leaver && (!first || weight == EVIDENCE_FOLLOWER || weight == EVIDENCE_HINT))
        judge_early_leaver(v, leaver);
    else if (first)
        judge_outcome(v, first, &in->memory);
    else
        judge_rest(v, in);
    if (!v->where)
        v->where = mem_dup(in->host ? in->host : "");
    if (!v->message)
        v->message = mem_dup("");
    if (!v->detail)
        v->detail = mem_dup("");
    return v;
}

bool verdict_is_follower(const struct verdict *v, const struct outcome *o)
{
    return v->kind == VERDICT_FAILED && o != v->first && is_failure(o);
}

void verdict_free(struct verdict *v)
{
    if (!v)
        return;
    free(v->what);
    free(v->where);
    free(v->message);
    free(v->detail);
    free(v->help);
    free(v);
}
