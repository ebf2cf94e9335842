/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "emulator/sdk.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strv.h"
#include "base/utf8.h"
#include "emulator/sdk_check.h"

#define PROCESSES_KEY "sagemaker_mpi_num_of_processes_per_host"

static bool looks_like_python(const char *text)
{
    return strchr(text, '\'') || strstr(text, "True") || strstr(text, "False") ||
           strstr(text, "None");
}

cJSON *sdk_read(const char *text, struct err *err)
{
    auto_json cJSON *dict = json_parse(text, strlen(text), err);

    if (!dict) {
        char why[sizeof(err->text)];

        memcpy(why, err->text, sizeof(why));
        (void)err_set(err, BLAME_CONFIG, -EINVAL, "distribution: not JSON%s: %.300s",
                      looks_like_python(text)
                          ? " but Python: write \"mpi\" for 'mpi', true for True, null for None"
                          : "",
                      why);
        return NULL;
    }
    if (!cJSON_IsObject(dict)) {
        (void)err_set(err, BLAME_CONFIG, -EINVAL,
                      "distribution: expected a JSON object such as "
                      "{\"torch_distributed\": {\"enabled\": true}}, found %s",
                      json_kind(dict));
        return NULL;
    }
    return TAKE(dict);
}

/* `node` is owned from now on. */
static void add(cJSON *values, const char *name, cJSON *node)
{
    if (json_get(values, name))
        cJSON_Delete(node);
    else
        json_add(values, name, node);
}

static cJSON *copy(const cJSON *node)
{
    return mem_check(cJSON_Duplicate(node, true));
}

static void add_on(cJSON *values, const char *name, const cJSON *form)
{
    add(values, name, cJSON_CreateBool(sdk_is_on(form)));
}

static void add_options(cJSON *values, const char *name, const cJSON *form)
{
    const char *options = json_string(json_get(form, "custom_mpi_options"));

    add(values, name, mem_check(cJSON_CreateString(options ? options : "")));
}

static void add_type(const struct sdk_job *job, cJSON *values)
{
    add(values, "sagemaker_instance_type",
        mem_check(job->instance_type ? cJSON_CreateString(job->instance_type)
                                     : cJSON_CreateNull()));
}

static void add_mpi(const cJSON *mpi, cJSON *values)
{
    const cJSON *count = json_get(mpi, "processes_per_host");

    add_on(values, "sagemaker_mpi_enabled", mpi);
    if (json_truth(count))
        add(values, PROCESSES_KEY, copy(count));
    add_options(values, "sagemaker_mpi_custom_mpi_options", mpi);
}

/* pytorchddp is sent as if it were data parallel. */
static void add_smdistributed(const struct sdk_job *job, cJSON *values)
{
    const cJSON *smd = json_get(job->distribution, "smdistributed");
    const cJSON *ddp = json_get(job->distribution, "pytorchddp");
    const cJSON *data = ddp ? ddp : json_get(smd, "dataparallel");
    const cJSON *model = json_get(smd, "modelparallel");
    const cJSON *parameters = json_get(model, "parameters");

    if (!smd && !ddp)
        return;
    if (sdk_is_on(model) && json_truth(parameters))
        add(values, "mp_parameters", copy(parameters));
    add_on(values, "sagemaker_distributed_dataparallel_enabled", data);
    add_type(job, values);
    if (sdk_is_on(data))
        add_options(values, "sagemaker_distributed_dataparallel_custom_mpi_options", data);
}

static const struct flag { /* forms that are nothing but a flag */
    const char *form;
    const char *key;
} flags[] = {
    {"parameter_server",               "sagemaker_parameter_server_enabled"              },
    {"multi_worker_mirrored_strategy", "sagemaker_multi_worker_mirrored_strategy_enabled"},
    {"pytorchxla",                     "sagemaker_pytorch_xla_multi_worker_enabled"      },
};

static int add_groups(const struct sdk_job *job, cJSON *values, struct err *err)
{
    const cJSON *dict = job->distribution;
    const cJSON *named = json_get(dict, "instance_groups");
    bool used = sdk_is_on(json_get(dict, "mpi")) || sdk_is_on(json_get(dict, "pytorchddp")) ||
                sdk_is_on(json_get(json_get(dict, "smdistributed"), "dataparallel"));

    if (named && cJSON_GetArraySize(named) && !used)
        return err_set(err, BLAME_CONFIG, -EINVAL,
                       "distribution: instance_groups: neither mpi nor dataparallel is enabled");
    if (used && named)
        add(values, "sagemaker_distribution_instance_groups", copy(named));
    else if (used && job->groups && job->groups->n == 1) /* the only one need not be named */
        add(values, "sagemaker_distribution_instance_groups",
            mem_check(cJSON_CreateStringArray((const char *const *)strv_list(job->groups), 1)));
    return 0;
}

/* Beside torch_distributed the SDK drops MPI, groups and the rest without a word. */
static void add_torch(const struct sdk_job *job, cJSON *values)
{
    add(values, "sagemaker_torch_distributed_enabled", cJSON_CreateTrue());
    if (job->instance_type)
        add_type(job, values);
}

int sdk_distribution(const struct sdk_job *job, cJSON *values, struct err *err)
{
    const cJSON *dict = job->distribution;
    const cJSON *mpi = json_get(dict, "mpi");
    bool torch = dict ? sdk_is_on(json_get(dict, "torch_distributed")) : job->ranks > 1;

    if (dict && sdk_check(job, err))
        return err->code;
    if (!torch && add_groups(job, values, err))
        return err->code;
    if (!torch && mpi)
        add_mpi(mpi, values);
    for (size_t i = 0; i < LENGTH(flags) && !torch; i++) {
        if (json_get(dict, flags[i].form))
            add_on(values, flags[i].key, json_get(dict, flags[i].form));
    }
    add_smdistributed(job, values);
    if (torch)
        add_torch(job, values);
    if (job->ranks && (dict || torch))
        add(values, PROCESSES_KEY, json_new_integer(job->ranks));
    return 0;
}

int sdk_user_value(cJSON *values, const char *name, const char *text, struct err *err)
{
    struct err why = ERR_INIT;
    auto_json cJSON *node = json_parse(text, strlen(text), &why);

    if (utf8_check(name, strlen(name)) < strlen(name) ||
        utf8_check(text, strlen(text)) < strlen(text))
        return err_set(err, BLAME_CONFIG, -EILSEQ, "a hyperparameter is not UTF-8");
    if (!*name || json_get(values, name))
        return err_set(err, BLAME_CONFIG, -EINVAL, "hyperparameter %.100s%s", name,
                       *name ? ": given twice" : " without a name");
    if (!node && why.code != -EINVAL)
        return err_set(err, BLAME_CONFIG, why.code, "hyperparameter %.100s: %.300s", name,
                       why.text);
    json_add(values, name, node ? TAKE(node) : mem_check(cJSON_CreateString(text)));
    return 0;
}

int sdk_encode(const cJSON *values, cJSON **out, struct err *err)
{
    auto_json cJSON *texts = mem_check(cJSON_CreateObject());
    const cJSON *node;

    if (cJSON_GetArraySize(values) > SDK_KEYS_MAX)
        return err_set(err, BLAME_CONFIG, -E2BIG, "%d hyperparameters: the service takes %d",
                       cJSON_GetArraySize(values), SDK_KEYS_MAX);
    cJSON_ArrayForEach (node, values) {
        auto_free char *text = json_python_default(node);

        if (utf8_count(node->string, strlen(node->string)) > SDK_KEY_MAX)
            return err_set(err, BLAME_CONFIG, -E2BIG,
                           "hyperparameter %.60s...: a name has at most %d characters",
                           node->string, SDK_KEY_MAX);
        if (strlen(text) > SDK_VALUE_MAX) /* all ASCII */
            return err_set(err, BLAME_CONFIG, -E2BIG,
                           "hyperparameter %.100s: %zu characters, the service takes %d",
                           node->string, strlen(text), SDK_VALUE_MAX);
        json_add_string(texts, node->string, text);
    }
    *out = TAKE(texts);
    return 0;
}
