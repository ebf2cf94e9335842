/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/env_rules.h"

#include <stddef.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "core/channels.h"
#include "core/env.h"
#include "core/job.h"

enum form {
    FORM_TEXT,  /* char *; NULL is null */
    FORM_JSON,  /* cJSON * */
    FORM_LIST,  /* struct strv */
    FORM_COUNT, /* unsigned */
    FORM_BOOL,
    FORM_PATH, /* of `below` */
    FORM_MADE  /* by `make`; NULL leaves the variable out */
};

static cJSON *text_node(const char *text)
{
    auto_buf struct buf clean = {0};

    if (!text)
        return cJSON_CreateNull();
    utf8_replace(&clean, text, strlen(text));
    return cJSON_CreateString(buf_text(&clean));
}

static cJSON *list_node(const struct strv *list)
{
    cJSON *node = cJSON_CreateArray();

    for (size_t i = 0; i < list->n; i++)
        cJSON_AddItemToArray(node, text_node(list->v[i]));
    return node;
}

static cJSON *make_channels(const struct job *job)
{
    size_t n = 0;
    auto_free struct json_member *sorted = json_sorted(job->channels, &n);
    cJSON *node = cJSON_CreateArray();

    for (size_t i = 0; i < n; i++)
        cJSON_AddItemToArray(node, text_node(sorted[i].node->string));
    return node;
}

static cJSON *make_channel_folders(const struct job *job)
{
    cJSON *node = cJSON_CreateObject();
    const cJSON *channel;

    cJSON_ArrayForEach (channel, job->channels) {
        auto_free char *folder = channels_folder(job, channel->string);

        json_add(node, channel->string, text_node(folder));
    }
    return node;
}

static cJSON *make_groups_dict(const struct job *job)
{
    cJSON *node = cJSON_CreateObject();
    const cJSON *group;

    cJSON_ArrayForEach (group, job->groups) {
        json_add(node, json_string(json_get(group, "instance_group_name")),
                 cJSON_Duplicate(group, true));
    }
    return node;
}

static cJSON *make_is_hetero(const struct job *job)
{
    return cJSON_CreateBool(job_is_hetero(job));
}

static cJSON *make_module_name(const struct job *job)
{
    const char *program = job->program ? job->program : "None";
    size_t n = strlen(program);
    auto_free char *name = NULL;

    if (n >= 3 && strcmp(program + n - 3, ".py") == 0)
        n -= 3;
    name = mem_dup_n(program, n);
    return text_node(name);
}

static cJSON *make_args(const struct job *job)
{
    auto_strv struct strv args = {0};

    args_build(job, &args);
    return list_node(&args);
}

static cJSON *make_topology(const struct job *job)
{
    return cJSON_GetArraySize(job->topology) ? cJSON_Duplicate(job->topology, true) : NULL;
}

/* It looks at what the container had, not at the hyperparameter, and so has four answers. */
static cJSON *make_is_modelparallel(const struct job *job)
{
    const char *preset = strv_env(&job->container, "SM_HP_MP_PARAMETERS");

    if (!preset || !preset[0])
        return text_node(preset);
    return cJSON_CreateBool(strcmp(preset, "{}") != 0);
}

static cJSON *make_training_env(const struct job *job);

/* One row per value of the contract (section 7): the variable's name and the key in
 * SM_TRAINING_ENV, NULL where it is not in there; variables in the contract's order. */
static const struct env_rule {
    const char *name;
    const char *key;
    enum form form;
    size_t field; /* where in struct job */
    const char *below;
    cJSON *(*make)(const struct job *job);
} rules[] = {
#define JOB(member) offsetof(struct job, member), NULL, NULL
#define BELOW(path) 0, path, NULL
#define MADE(maker) 0, NULL, maker
  /* clang-format off */
    {"SM_HOSTS", "hosts", FORM_LIST, JOB(hosts)},
    {"SM_NETWORK_INTERFACE_NAME", "network_interface_name", FORM_TEXT, JOB(interface)},
    {"SM_HPS", "hyperparameters", FORM_JSON, JOB(hyperparameters)},
    {"SM_USER_ENTRY_POINT", "user_entry_point", FORM_TEXT, JOB(program)},
    {"SM_FRAMEWORK_PARAMS", "additional_framework_parameters", FORM_JSON, JOB(framework)},
    {"SM_RESOURCE_CONFIG", "resource_config", FORM_JSON, JOB(resource_config)},
    {"SM_INPUT_DATA_CONFIG", "input_data_config", FORM_JSON, JOB(channels)},
    {"SM_OUTPUT_DATA_DIR", "output_data_dir", FORM_PATH, BELOW("output/data")},
    {"SM_CHANNELS", NULL, FORM_MADE, MADE(make_channels)},
    {"SM_CURRENT_HOST", "current_host", FORM_TEXT, JOB(host)},
    {"SM_CURRENT_INSTANCE_TYPE", "current_instance_type", FORM_TEXT, JOB(instance_type)},
    {"SM_CURRENT_INSTANCE_GROUP", "current_instance_group", FORM_TEXT, JOB(group)},
    {"SM_CURRENT_INSTANCE_GROUP_HOSTS", "current_instance_group_hosts", FORM_LIST, JOB(group_hosts)},
    {"SM_INSTANCE_GROUPS", "instance_groups", FORM_LIST, JOB(group_names)},
    {"SM_INSTANCE_GROUPS_DICT", "instance_groups_dict", FORM_MADE, MADE(make_groups_dict)},
    {"SM_DISTRIBUTION_INSTANCE_GROUPS", "distribution_instance_groups", FORM_LIST, JOB(dist_groups)},
    {"SM_IS_HETERO", "is_hetero", FORM_MADE, MADE(make_is_hetero)},
    {"SM_MODULE_NAME", "module_name", FORM_MADE, MADE(make_module_name)},
    {"SM_LOG_LEVEL", "log_level", FORM_JSON, JOB(log_level)},
    {"SM_FRAMEWORK_MODULE", "framework_module", FORM_TEXT, JOB(framework_module)},
    {"SM_INPUT_DIR", "input_dir", FORM_PATH, BELOW("input")},
    {"SM_INPUT_CONFIG_DIR", "input_config_dir", FORM_PATH, BELOW("input/config")},
    {"SM_OUTPUT_DIR", "output_dir", FORM_PATH, BELOW("output")},
    {"SM_NUM_CPUS", "num_cpus", FORM_COUNT, JOB(facts.num_cpus)},
    {"SM_NUM_GPUS", "num_gpus", FORM_COUNT, JOB(facts.num_gpus)},
    {"SM_NUM_NEURONS", "num_neurons", FORM_COUNT, JOB(facts.num_neurons)},
    {"SM_MODEL_DIR", "model_dir", FORM_PATH, BELOW("model")},
    {"SM_MODULE_DIR", "module_dir", FORM_TEXT, JOB(submit_dir)},
    {"SM_TRAINING_ENV", NULL, FORM_MADE, MADE(make_training_env)},
    {"SM_USER_ARGS", NULL, FORM_MADE, MADE(make_args)},
    {"SM_OUTPUT_INTERMEDIATE_DIR", "output_intermediate_dir", FORM_PATH, BELOW("output/intermediate")},
    {"SM_TOPOLOGY", NULL, FORM_MADE, MADE(make_topology)},
    {NULL, "channel_input_dirs", FORM_MADE, MADE(make_channel_folders)},
    {NULL, "distribution_hosts", FORM_LIST, JOB(dist_hosts)},
    {NULL, "is_master", FORM_BOOL, JOB(is_leader)},
    {NULL, "is_modelparallel_enabled", FORM_MADE, MADE(make_is_modelparallel)},
    {NULL, "is_smddpmprun_installed", FORM_BOOL, JOB(facts.smddpmprun)},
    {NULL, "is_smddprun_installed", FORM_BOOL, JOB(facts.smddprun)},
    {NULL, "job_name", FORM_TEXT, JOB(training_job)},
    {NULL, "master_hostname", FORM_TEXT, JOB(leader)},
    {NULL, "topology", FORM_JSON, JOB(topology)},
  /* clang-format on */
};

static cJSON *rule_value(const struct env_rule *rule, const struct job *job)
{
    const char *at = (const char *)job + rule->field;
    auto_free char *path = NULL;

    switch (rule->form) {
    case FORM_TEXT:
        return text_node(*(char *const *)(const void *)at);
    case FORM_JSON:
        return cJSON_Duplicate(*(cJSON *const *)(const void *)at, true);
    case FORM_LIST:
        return list_node((const struct strv *)(const void *)at);
    case FORM_COUNT:
        return json_new_integer(*(const unsigned *)(const void *)at);
    case FORM_BOOL:
        return cJSON_CreateBool(*(const bool *)(const void *)at);
    case FORM_PATH:
        path = job_path(job, rule->below);
        return text_node(path);
    case FORM_MADE:
        break;
    }
    return rule->make(job);
}

static cJSON *make_training_env(const struct job *job)
{
    cJSON *node = cJSON_CreateObject();

    for (size_t i = 0; i < LENGTH(rules); i++)
        if (rules[i].key)
            json_add(node, rules[i].key, rule_value(&rules[i], job));
    return node;
}

bool env_rule(const struct job *job, size_t index, const char **name, cJSON **value)
{
    if (index >= LENGTH(rules))
        return false;
    *name = rules[index].name;
    *value = *name ? rule_value(&rules[index], job) : NULL;
    return true;
}
