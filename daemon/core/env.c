/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/env.h"

#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "core/channels.h"
#include "core/env_rules.h"
#include "core/findings.h"
#include "core/fit.h"
#include "core/job.h"
#include "core/plan.h"

#define MASTER_PORT "7777"
#define TOLD_MAX    20 /* warnings of one kind */

/* What env_build() works on: a look-up of the plan's environment goes with it. */
struct work {
    const struct job *job;
    struct plan *plan;
    struct strv_index environment;
    struct findings *findings;
};

static void set_rules(struct work *w)
{
    const char *name;
    cJSON *value;

    for (size_t i = 0; env_rule(w->job, i, &name, &value); i++) {
        auto_free char *text = value ? json_env_text(value) : NULL;

        if (text)
            strv_index_set(&w->environment, name, text);
        cJSON_Delete(value);
    }
}

/* PREFIX and the name in capitals, to free(). */
static char *variable_name(const char *prefix, const char *name)
{
    auto_buf struct buf text = {0};

    buf_str(&text, prefix);
    utf8_upper(&text, name, strlen(name));
    return buf_take(&text);
}

/* The member before `item` that gave the same variable; it is there. */
static const char *earlier(const cJSON *object, const cJSON *item, const char *prefix,
                           const char *variable)
{
    const cJSON *other;

    cJSON_ArrayForEach (other, object) {
        auto_free char *name = variable_name(prefix, other->string);

        if (other == item || strcmp(name, variable) == 0)
            return other->string;
    }
    return item->string;
}

/* How often something of the same kind is told; the rest is counted. */
static bool tell_again(size_t *told)
{
    return ++*told <= TOLD_MAX;
}

static void tell_rest(size_t told, const char *what, struct findings *findings)
{
    if (told > TOLD_MAX)
        findings_warn(findings, "%zu more %s", told - TOLD_MAX, what);
}

static void refuse_name(struct work *w, const char *file, const char *member, const char *name,
                        const char *value)
{
    strv_add(&w->plan->env_refused, name);
    strv_add(&w->plan->env_refused, value);
    findings_fatal(w->findings, BLAME_CONFIG,
                   "%s: /%.200s: expected a name without '=', since the variable %.200s cannot be "
                   "set",
                   file, member, name);
}

/* A variable named after a member of `object` in `file`. No name with a '=' can be set. */
static void set_member(struct work *w, const char *file, const cJSON *object, const cJSON *item,
                       const char *prefix, const char *value, size_t *told)
{
    auto_free char *name = variable_name(prefix, item->string);

    if (strchr(name, '=')) {
        refuse_name(w, file, item->string, name, value);
        return;
    }
    if (strv_index_find(&w->environment, name, strlen(name)) >= 0 && tell_again(told))
        findings_warn(w->findings,
                      "%s: /%.200s and /%.200s both give the variable %.200s, which has the value "
                      "of the last",
                      file, earlier(object, item, prefix, name), item->string, name);
    strv_index_set(&w->environment, name, value);
}

static void set_members(struct work *w)
{
    const struct job *job = w->job;
    const cJSON *item;
    size_t told = 0;

    cJSON_ArrayForEach (item, job->channels) {
        auto_free char *folder = channels_folder(job, item->string);

        set_member(w, "inputdataconfig.json", job->channels, item, "SM_CHANNEL_", folder, &told);
    }
    cJSON_ArrayForEach (item, job->hyperparameters) {
        auto_free char *value = json_env_text(item);

        set_member(w, "hyperparameters.json", job->hyperparameters, item, "SM_HP_", value, &told);
    }
    tell_rest(told, "variables are given twice", w->findings);
}

void env_fill(const struct job *job, struct plan *plan, const char *name, const char *value)
{
    bool preset = strv_env(&job->container, name);
    struct strv *list = preset ? &plan->left_alone : &plan->filled;

    if (!preset)
        strv_env_set(&plan->environment, name, value);
    if (!strv_has(list, name))
        strv_add(list, name);
}

/* The code folder, then Python's own path. Without a facts file that is not repeated here, since
 * Python adds it by itself. */
static void set_python_path(const struct job *job, struct plan *plan)
{
    const char *preset = strv_env(&job->container, "PYTHONPATH");
    auto_buf struct buf text = {0};

    buf_str(&text, job->code_dir);
    for (size_t i = 0; i < job->facts.python_path.n; i++)
        buf_printf(&text, ":%s", job->facts.python_path.v[i]);
    if (!job->facts.python_path.n && preset && preset[0])
        buf_printf(&text, ":%s", preset);
    strv_env_set(&plan->environment, "PYTHONPATH", buf_text(&text));
}

static void set_master(const struct job *job, struct plan *plan)
{
    bool nameless = job->hosts.n == 1 && !job->facts.own_name_resolves && !job->facts.given;
    auto_free char *port =
        job->facts.master_port ? mem_printf("%u", job->facts.master_port) : mem_dup(MASTER_PORT);

    strv_env_set(&plan->environment, "MASTER_ADDR", nameless ? "127.0.0.1" : job->leader);
    strv_env_set(&plan->environment, "MASTER_PORT", port);
}

static void set_pytorch(const struct job *job, struct plan *plan)
{
    env_fill(job, plan, "NCCL_SOCKET_IFNAME", job->interface);
    env_fill(job, plan, "NCCL_IB_DISABLE", "1");
    env_fill(job, plan, "NCCL_DEBUG", "WARN");
    if (job->facts.torch_version)
        strv_env_set(&plan->environment, "SM_DLC_TORCH_VERSION", job->facts.torch_version);
}

static void set_tensorflow(const struct job *job, struct plan *plan)
{
    const char *model = json_string(json_get(job->hyperparameters, "model_dir"));
    bool in_bucket = model && strncmp(model, "s3://", 5) == 0 && job->facts.bucket_region;

    env_fill(job, plan, "S3_REGION", in_bucket ? job->facts.bucket_region : job->region);
    env_fill(job, plan, "TF_CPP_MIN_LOG_LEVEL", "1");
    env_fill(job, plan, "S3_USE_HTTPS", "1");
}

/* Section 8.3. In an image of the user's own the launcher asked for stands for the layer. */
static void set_others(const struct job *job, struct plan *plan)
{
    bool pytorch =
        job->layer == LAYER_PYTORCH ||
        (job->layer == LAYER_OWN && (job->want[WANT_TORCH] || job->want[WANT_PYTORCH_DDP]));

    strv_env_set(&plan->environment, "CURRENT_HOST", job->host);
    strv_env_set(&plan->environment, "SAGEMAKER_JOB_NAME", job->job_name);
    strv_env_set(&plan->environment, "SAGEMAKER_REGION", job->region);
    set_python_path(job, plan);
    if (pytorch)
        set_pytorch(job, plan);
    if (pytorch || job->layer == LAYER_OWN)
        set_master(job, plan);
    if (job->layer == LAYER_TENSORFLOW)
        set_tensorflow(job, plan);
    env_fill(job, plan, "PYTHONUNBUFFERED", "1");
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool env_is_legal(const char *entry)
{
    while (is_word(*entry))
        entry++;
    return *entry == '=' || !*entry;
}

/* The name of `entry` with '_' in place of every character that shells do not allow; NULL if it is
 * legal already. To free(). */
static char *legal_name(const char *entry)
{
    size_t n = strcspn(entry, "=");
    auto_buf struct buf text = {0};

    if (env_is_legal(entry))
        return NULL;
    for (size_t i = 0; i < n; i++) {
        if (is_word(entry[i]))
            buf_char(&text, entry[i]);
        else if (((unsigned char)entry[i] & 0xc0) != 0x80)
            buf_char(&text, '_');
    }
    return buf_take(&text);
}

/* The variable that has `alias`, by its own name or as a second one; it is there. To free(). */
static char *owner(const struct plan *plan, size_t before, const char *alias)
{
    for (size_t i = 0; i < before; i++) {
        const char *entry = plan->environment.v[i];
        auto_free char *other = legal_name(entry);

        if (other && strcmp(other, alias) == 0)
            return mem_dup_n(entry, strcspn(entry, "="));
    }
    return mem_dup(alias);
}

static void add_aliases(struct work *w)
{
    const struct strv *environment = &w->plan->environment;
    auto_strv_index struct strv_index aliases = {.env = &w->plan->aliases};
    size_t told = 0;

    for (size_t i = 0; i < environment->n; i++) {
        const char *entry = environment->v[i];
        size_t n = strcspn(entry, "=");
        auto_free char *alias = legal_name(entry);
        bool own, second;

        if (!alias)
            continue;
        own = strv_index_find(&w->environment, alias, strlen(alias)) >= 0 ||
              strv_env(&w->job->container, alias);
        second = strv_index_find(&aliases, alias, strlen(alias)) >= 0;
        if (!own && !second) {
            strv_index_set(&aliases, alias, entry + n + 1);
        } else if (tell_again(&told)) {
            auto_free char *other = own ? mem_dup(alias) : owner(w->plan, i, alias);

            findings_warn(w->findings,
                          "the variable %.*s has no second name that shells allow: %.200s is taken "
                          "by %.200s",
                          (int)n, entry, alias, other);
        }
    }
    tell_rest(told, "variables have no second name that shells allow", w->findings);
}

void env_build(const struct job *job, struct plan *plan, struct findings *findings)
{
    struct work w = {job, plan, {.env = &plan->environment}, findings};

    args_build(job, &plan->user_args);
    set_rules(&w);
    set_members(&w);
    set_others(job, plan);
    fit_check(job, plan, findings);
    strv_index_done(&w.environment); /* names have changed */
    w.environment.env = &plan->environment;
    add_aliases(&w);
    strv_index_done(&w.environment);
}
