/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "core/plan.h"
#include "core/redact.h"

#define PLAN_VERSION 1

/* NULL where there is no text, which json_add() makes null. */
static cJSON *text_json(const char *text, const struct redact *redact)
{
    auto_free char *masked = redact && text ? redact_text(redact, text) : NULL;
    auto_buf struct buf valid = {0};

    if (!text)
        return NULL;
    text = masked ? masked : text;
    utf8_replace(&valid, text, strlen(text));
    return cJSON_CreateString(buf_text(&valid));
}

/* The value of `name`, masked whole if it is a secret. */
static cJSON *value_json(const char *name, const char *value, const struct redact *redact)
{
    auto_free char *masked = redact_value(redact, name, value);

    return text_json(masked, NULL);
}

/* Words of a command: what follows an option is its value. */
static cJSON *words_json(const struct strv *words, const struct redact *redact)
{
    cJSON *list = cJSON_CreateArray();

    for (size_t i = 0; i < words->n; i++) {
        const char *before = i ? words->v[i - 1] : "";

        cJSON_AddItemToArray(list, value_json(before[0] == '-' ? before : "", words->v[i], redact));
    }
    return list;
}

static cJSON *variables_json(const struct strv *variables, const struct redact *redact)
{
    cJSON *object = cJSON_CreateObject();

    for (size_t i = 0; i < variables->n; i++) {
        size_t length = strcspn(variables->v[i], "=");
        auto_free char *name = mem_dup_n(variables->v[i], length);

        json_add(object, name, value_json(name, variables->v[i] + length + 1, redact));
    }
    return object;
}

static cJSON *environment_json(const struct plan *plan, const struct redact *redact)
{
    cJSON *object = variables_json(&plan->environment, redact);

    for (size_t i = 0; i + 1 < plan->env_refused.n; i += 2)
        json_add(object, plan->env_refused.v[i],
                 value_json(plan->env_refused.v[i], plan->env_refused.v[i + 1], redact));
    return object;
}

static cJSON *files_json(const struct plan *plan)
{
    cJSON *files = cJSON_CreateArray();

    for (size_t i = 0; i < plan->n_files; i++) {
        cJSON *file = cJSON_CreateObject();

        json_add_string(file, "path", plan->files[i].path);
        json_add(file, "bytes", json_new_integer((long long)strlen(plan->files[i].text)));
        cJSON_AddItemToArray(files, file);
    }
    return files;
}

static cJSON *world_json(const struct plan *plan)
{
    cJSON *world = cJSON_CreateObject();
    cJSON *hosts = cJSON_CreateArray();

    json_add(world, "size", json_new_integer(plan->world));
    for (size_t i = 0; i < plan->n_hosts; i++) {
        cJSON *host = cJSON_CreateObject();

        json_add_string(host, "name", plan->hosts[i].name);
        json_add(host, "first_rank", json_new_integer(plan->hosts[i].first_rank));
        json_add(host, "ranks", json_new_integer(plan->hosts[i].ranks));
        cJSON_AddItemToArray(hosts, host);
    }
    json_add(world, "hosts", hosts);
    return world;
}

static cJSON *steps_json(const struct plan *plan, const struct redact *redact)
{
    cJSON *steps = cJSON_CreateArray();

    for (size_t i = 0; i < plan->n_steps; i++) {
        cJSON *step = cJSON_CreateObject();

        json_add_string(step, "name", plan->steps[i].name);
        json_add(step, "argv", words_json(&plan->steps[i].argv, redact));
        json_add_string(step, "cwd", plan->steps[i].cwd);
        json_add(step, "deadline_s", json_new_integer(plan->steps[i].deadline_s));
        cJSON_AddItemToArray(steps, step);
    }
    return steps;
}

static void add_process(cJSON *object, const struct plan_rank *process, const struct redact *redact)
{
    json_add(object, "argv", words_json(&process->argv, redact));
    json_add_string(object, "cwd", process->cwd);
    json_add(object, "env", variables_json(&process->env, redact));
}

static cJSON *launch_json(const struct plan *plan, const struct redact *redact)
{
    cJSON *launch = plan->has_launch ? cJSON_CreateObject() : NULL;

    if (launch)
        add_process(launch, &plan->launch, redact);
    return launch;
}

static cJSON *ranks_json(const struct plan *plan, const struct redact *redact)
{
    cJSON *ranks = cJSON_CreateArray();

    for (size_t i = 0; i < plan->n_ranks; i++) {
        cJSON *rank = cJSON_CreateObject();

        json_add(rank, "rank", json_new_integer(plan->ranks[i].rank));
        json_add(rank, "local_rank", json_new_integer(plan->ranks[i].local_rank));
        add_process(rank, &plan->ranks[i], redact);
        cJSON_AddItemToArray(ranks, rank);
    }
    return ranks;
}

static cJSON *warnings_json(const struct plan *plan, const struct findings *findings,
                            const struct redact *redact)
{
    cJSON *warnings = cJSON_CreateArray();

    for (size_t i = 0; i < findings->n; i++)
        if (!findings->v[i].fatal)
            cJSON_AddItemToArray(warnings, text_json(findings->v[i].text, redact));
    for (size_t i = 0; i < plan->not_yet.n; i++)
        cJSON_AddItemToArray(warnings, text_json(plan->not_yet.v[i], redact));
    return warnings;
}

cJSON *plan_json(const struct plan *plan, const struct findings *findings,
                 const struct redact *redact)
{
    const struct finding *fatal = findings_first_fatal(findings);
    cJSON *object = cJSON_CreateObject();

    json_add(object, "version", json_new_integer(PLAN_VERSION));
    json_add_string(object, "host", plan->host);
    json_add_string(object, "leader", plan->leader);
    json_add_string(object, "role", plan_role_name(plan->role));
    json_add_string(object, "launcher", plan->launcher);
    json_add(object, "world", world_json(plan));
    json_add(object, "steps", steps_json(plan, redact));
    json_add(object, "files", files_json(plan));
    json_add_string(object, "executable", plan->executable);
    json_add(object, "launch", launch_json(plan, redact));
    json_add(object, "ranks", ranks_json(plan, redact));
    json_add(object, "environment", environment_json(plan, redact));
    json_add(object, "aliases", variables_json(&plan->aliases, redact));
    json_add(object, "user_args", words_json(&plan->user_args, redact));
    json_add(object, "filled", words_json(&plan->filled, NULL));
    json_add(object, "left_alone", words_json(&plan->left_alone, NULL));
    json_add(object, "warnings", warnings_json(plan, findings, redact));
    if (fatal)
        json_add(object, "error", text_json(fatal->text, redact));
    return object;
}
