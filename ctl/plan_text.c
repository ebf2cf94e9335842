/* SPDX-License-Identifier: Apache-2.0
 *
 * plan_text - a plan as a shell script that a person can read, and paste line by line.
 *
 * All that is no command is a comment. Secrets are masked before a word is quoted. */
#include "config.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "ctl/verbs.h"

#define BARE "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%"
/* More ranks than this that differ in their variables only are shown as calls of one function. */
#define RANKS_IN_FULL 16

/* What the text is made of. */
struct page {
    struct buf *out;
    const struct inputs *in;
    const struct redact *redact;
};

static const struct strv none;

static void comment(const struct page *p, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void comment(const struct page *p, const char *format, ...)
{
    auto_free char *text = NULL, *masked = NULL;
    va_list args;

    va_start(args, format);
    text = mem_vprintf(format, args);
    va_end(args);
    masked = redact_text(p->redact, text);
    for (char *at = masked; *at; at++) {
        if (iscntrl((unsigned char)*at))
            *at = ' '; /* a line break would end the comment */
    }
    buf_printf(p->out, "# %s\n", masked);
}

static void quote(struct buf *out, const char *word)
{
    if (*word && !word[strspn(word, BARE)]) {
        buf_str(out, word);
        return;
    }
    buf_char(out, '\'');
    for (; *word; word++) {
        if (*word == '\'')
            buf_str(out, "'\\''");
        else
            buf_char(out, *word);
    }
    buf_char(out, '\'');
}

static bool is_shell_name(const char *name, size_t n)
{
    bool right = n && !isdigit((unsigned char)name[0]);

    for (size_t i = 0; i < n; i++)
        right = right && (isalnum((unsigned char)name[i]) || name[i] == '_');
    return right;
}

/* NAME='value', or 'odd name=value', which only env(1) can set. */
static void assignment(const struct page *p, const char *variable)
{
    size_t n = strcspn(variable, "=");
    auto_free char *name = mem_dup_n(variable, n);
    auto_free char *value = redact_value(p->redact, name, variable + n + 1);
    auto_free char *whole = mem_printf("%s=%s", name, value);

    if (!is_shell_name(name, n)) {
        quote(p->out, whole);
        return;
    }
    buf_printf(p->out, "%s=", name);
    quote(p->out, value);
}

static void words(const struct page *p, const struct strv *argv)
{
    for (size_t i = 0; i < argv->n; i++) {
        const char *option = i && argv->v[i - 1][0] == '-' ? argv->v[i - 1] : "";
        auto_free char *word = redact_value(p->redact, option, argv->v[i]);

        buf_char(p->out, ' ');
        quote(p->out, word);
    }
    buf_char(p->out, '\n');
}

/* Without those that `later` has too, which come in its place. */
static void exports(const struct page *p, const struct strv *variables, const struct strv *later)
{
    for (size_t i = 0; i < variables->n; i++) {
        size_t n = strcspn(variables->v[i], "=");
        auto_free char *name = mem_dup_n(variables->v[i], n);

        if (!is_shell_name(name, n) || strv_env(later, name))
            continue;
        buf_str(p->out, "export ");
        assignment(p, variables->v[i]);
        buf_char(p->out, '\n');
    }
}

/* Variables that no `export` can set, as words of env(1). */
static void odd_variables(const struct page *p)
{
    const struct strv *variables = &p->in->plan->environment;

    for (size_t i = 0; i < variables->n; i++) {
        if (is_shell_name(variables->v[i], strcspn(variables->v[i], "=")))
            continue;
        buf_char(p->out, ' ');
        assignment(p, variables->v[i]);
    }
}

static void own_variables(const struct page *p, const struct strv *env, const struct strv *shared)
{
    for (size_t i = 0; i < env->n; i++) {
        if (strv_has(shared, env->v[i]))
            continue;
        buf_char(p->out, ' ');
        assignment(p, env->v[i]);
    }
}

static void process(const struct page *p, const struct plan_rank *process,
                    const struct strv *shared)
{
    buf_str(p->out, "cd ");
    quote(p->out, process->cwd);
    buf_str(p->out, " && env");
    odd_variables(p);
    own_variables(p, &process->env, shared);
    words(p, &process->argv);
}

/* The variables that all ranks have with the same value, where `export` can set them. */
static void find_shared(const struct plan *plan, struct strv *shared)
{
    if (plan->n_ranks < 2)
        return;
    for (size_t i = 0; i < plan->ranks[0].env.n; i++) {
        const char *variable = plan->ranks[0].env.v[i];
        size_t n = is_shell_name(variable, strcspn(variable, "="));

        while (n && n < plan->n_ranks && strv_has(&plan->ranks[n].env, variable))
            n++;
        if (n == plan->n_ranks)
            strv_add(shared, variable);
    }
}

static bool same_words(const struct strv *a, const struct strv *b)
{
    bool same = a->n == b->n;

    for (size_t i = 0; same && i < a->n; i++)
        same = !strcmp(a->v[i], b->v[i]);
    return same;
}

static bool ranks_are_alike(const struct plan *plan)
{
    bool alike = true;

    for (size_t i = 1; alike && i < plan->n_ranks; i++)
        alike = same_words(&plan->ranks[0].argv, &plan->ranks[i].argv) &&
                !strcmp(plan->ranks[0].cwd, plan->ranks[i].cwd);
    return alike;
}

/* Many ranks: their command once, as a function, then the variables of each. */
static void ranks_as_calls(const struct page *p, const struct strv *shared)
{
    const struct plan *plan = p->in->plan;

    comment(p, "ranks %u to %u, which differ in their variables only", plan->ranks[0].rank,
            plan->ranks[plan->n_ranks - 1].rank);
    buf_str(p->out, "rank() (cd ");
    quote(p->out, plan->ranks[0].cwd);
    buf_str(p->out, " && exec env");
    odd_variables(p);
    buf_str(p->out, " \"$@\"");
    words(p, &plan->ranks[0].argv);
    p->out->data[p->out->len - 1] = ')';
    buf_char(p->out, '\n');
    for (size_t i = 0; i < plan->n_ranks; i++) {
        buf_str(p->out, "rank");
        own_variables(p, &plan->ranks[i].env, shared);
        buf_char(p->out, '\n');
    }
}

static void ranks(const struct page *p, const struct strv *shared)
{
    const struct plan *plan = p->in->plan;

    if (shared->n)
        comment(p, "what all ranks have besides:");
    exports(p, shared, &none);
    if (plan->n_ranks > RANKS_IN_FULL && ranks_are_alike(plan)) {
        ranks_as_calls(p, shared);
        return;
    }
    for (size_t i = 0; i < plan->n_ranks; i++) {
        comment(p, "rank %u of %u", plan->ranks[i].rank, plan->world);
        process(p, &plan->ranks[i], shared);
    }
}

static void before_ranks(const struct page *p)
{
    const struct plan *plan = p->in->plan;

    for (size_t i = 0; i < plan->n_files; i++)
        comment(p, "written first: %s, %zu bytes", plan->files[i].path,
                strlen(plan->files[i].text));
    for (size_t i = 0; i < plan->n_steps; i++) {
        comment(p, "step %s, before the ranks, at most %u s", plan->steps[i].name,
                plan->steps[i].deadline_s);
        buf_str(p->out, "cd ");
        quote(p->out, plan->steps[i].cwd);
        buf_str(p->out, " &&");
        words(p, &plan->steps[i].argv);
    }
    if (plan->executable)
        comment(p, "made executable first: %s", plan->executable);
}

static void environment(const struct page *p, const struct strv *shared)
{
    const struct plan *plan = p->in->plan;

    comment(p, "the environment, beyond what is there already:");
    exports(p, &plan->environment, shared);
    if (plan->aliases.n)
        comment(p, "names that a shell cannot have, once more as one that it can:");
    exports(p, &plan->aliases, shared);
}

static void list(const struct page *p, const char *title, const struct strv *names)
{
    auto_free char *joined = strv_join(names, " ");

    if (names->n)
        comment(p, "%s: %s", title, joined);
}

static void world(const struct page *p)
{
    const struct plan *plan = p->in->plan;

    comment(p, "launcher %s, %u rank%s on %zu host%s; host %s is %s, the leader is %s",
            plan->launcher, plan->world, plan->world == 1 ? "" : "s", plan->n_hosts,
            plan->n_hosts == 1 ? "" : "s", plan->host, plan_role_name(plan->role), plan->leader);
    for (size_t i = 0; i < plan->n_hosts; i++)
        comment(p, "  %s: %u rank%s from %u", plan->hosts[i].name, plan->hosts[i].ranks,
                plan->hosts[i].ranks == 1 ? "" : "s", plan->hosts[i].first_rank);
}

static void changed_settings(const struct page *p)
{
    struct setting_row row;

    for (size_t i = 0; settings_row(i, &row); i++) {
        auto_free char *value = settings_get(&p->in->settings, row.name);

        if (strcmp(value, row.standard) != 0)
            comment(p, "setting %s = %s (default %s)", row.name, value,
                    *row.standard ? row.standard : "empty");
    }
}

static void warnings(const struct page *p)
{
    for (size_t i = 0; i < p->in->findings.n; i++) {
        if (!p->in->findings.v[i].fatal)
            comment(p, "warning: %s", p->in->findings.v[i].text);
    }
    for (size_t i = 0; i < p->in->plan->not_yet.n; i++)
        comment(p, "warning: %s", p->in->plan->not_yet.v[i]);
}

void plan_text(struct buf *out, const struct inputs *in, const struct redact *redact)
{
    const struct page p = {out, in, redact};
    bool can_run = !findings_first_fatal(&in->findings);
    auto_strv struct strv shared = {0};

    if (can_run)
        find_shared(in->plan, &shared);
    world(&p);
    changed_settings(&p);
    list(&p, "filled in for tuning", &in->plan->filled);
    list(&p, "left as they are set", &in->plan->left_alone);
    warnings(&p);
    environment(&p, &shared);
    if (!can_run) {
        comment(&p, "nothing can be started: see the errors");
        return;
    }
    before_ranks(&p);
    if (in->plan->has_launch) {
        comment(&p, "starts all ranks of this host");
        process(&p, &in->plan->launch, &none);
    }
    ranks(&p, &shared);
}
