/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/env.h"

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

#include <string.h>

#define MASTER_PORT "7777"

static void set_rules(const struct job *job, struct plan *plan, struct findings *findings)
{
    const char *name;
    cJSON *value;

    for (size_t i = 0; env_rule(job, i, &name, &value); i++) {
        auto_free char *text = value ? json_env_text(value) : NULL;

        if (text)
            fit_set(job, plan, name, text, findings);
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

/* A variable named after a member of `object` in `file`. No name with a '=' can be set. */
static void set_member(const struct job *job, struct plan *plan, const char *file,
                       const cJSON *object, const cJSON *item, const char *prefix,
                       const char *value, struct findings *findings)
{
    auto_free char *name = variable_name(prefix, item->string);

    if (strchr(name, '=')) {
        strv_add(&plan->env_refused, name);
        strv_add(&plan->env_refused, value);
        findings_fatal(findings, BLAME_CONFIG,
                       "%s: /%.200s: expected a name without '=', since the variable %.200s cannot "
                       "be set",
                       file, item->string, name);
        return;
    }
    if (strv_env(&plan->environment, name))
        findings_warn(findings,
                      "%s: /%.200s and /%.200s both give the variable %.200s, which has the value "
                      "of the last",
                      file, earlier(object, item, prefix, name), item->string, name);
    fit_set(job, plan, name, value, findings);
}

static void set_members(const struct job *job, struct plan *plan, struct findings *findings)
{
    const cJSON *item;

    cJSON_ArrayForEach (item, job->channels) {
        auto_free char *folder = channels_folder(job, item->string);

        set_member(job, plan, "inputdataconfig.json", job->channels, item, "SM_CHANNEL_", folder,
                   findings);
    }
    cJSON_ArrayForEach (item, job->hyperparameters) {
        auto_free char *value = json_env_text(item);

        set_member(job, plan, "hyperparameters.json", job->hyperparameters, item, "SM_HP_", value,
                   findings);
    }
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

/* The name of `entry` with '_' in place of every character that shells do not allow; NULL if it is
 * legal already. To free(). */
static char *legal_name(const char *entry)
{
    size_t n = strcspn(entry, "=");
    auto_buf struct buf text = {0};
    bool changed = false;

    for (size_t i = 0; i < n; i++) {
        if (is_word(entry[i])) {
            buf_char(&text, entry[i]);
            continue;
        }
        changed = true;
        if (((unsigned char)entry[i] & 0xc0) != 0x80)
            buf_char(&text, '_');
    }
    return changed ? buf_take(&text) : NULL;
}

/* The variable that has `alias`, by its own name or as a second one; NULL if it is free. To
 * free(). */
static char *owner(const struct job *job, const struct plan *plan, size_t before, const char *alias)
{
    if (strv_env(&plan->environment, alias) || strv_env(&job->container, alias))
        return mem_dup(alias);
    if (!strv_env(&plan->aliases, alias))
        return NULL;
    for (size_t i = 0; i < before; i++) {
        const char *entry = plan->environment.v[i];
        auto_free char *other = legal_name(entry);

        if (other && strcmp(other, alias) == 0)
            return mem_dup_n(entry, strcspn(entry, "="));
    }
    return NULL;
}

static void add_aliases(const struct job *job, struct plan *plan, struct findings *findings)
{
    for (size_t i = 0; i < plan->environment.n; i++) {
        const char *entry = plan->environment.v[i];
        size_t n = strcspn(entry, "=");
        auto_free char *alias = legal_name(entry);
        auto_free char *other = alias ? owner(job, plan, i, alias) : NULL;

        if (other)
            findings_warn(findings,
                          "the variable %.*s has no second name that shells allow: %.200s is taken "
                          "by %.200s",
                          (int)n, entry, alias, other);
        else if (alias)
            strv_env_set(&plan->aliases, alias, entry + n + 1);
    }
}

void env_build(const struct job *job, struct plan *plan, struct findings *findings)
{
    args_build(job, &plan->user_args);
    set_rules(job, plan, findings);
    set_members(job, plan, findings);
    set_others(job, plan);
    add_aliases(job, plan, findings);
    fit_check(job, plan, findings);
}
