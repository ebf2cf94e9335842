/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/hyper.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/names.h"
#include "base/num.h"
#include "base/utf8.h"
#include "core/job.h"

#define FILE_NAME      "hyperparameters.json"
#define PER_HOST_KEY   "sagemaker_mpi_num_of_processes_per_host"
#define PER_HOST_MAX   65536
#define SHOWN_MAX      60 /* bytes of a value in a message */
#define LOG_DEFAULT    20
#define LOG_NUMBER_MAX 1000000

const char *const want_keys[WANT_COUNT] = {
    [WANT_MPI] = "sagemaker_mpi_enabled",
    [WANT_PARAMETER_SERVER] = "sagemaker_parameter_server_enabled",
    [WANT_DATAPARALLEL] = "sagemaker_distributed_dataparallel_enabled",
    [WANT_PYTORCH_DDP] = "sagemaker_pytorch_ddp_enabled",
    [WANT_XLA] = "sagemaker_pytorch_xla_multi_worker_enabled",
    [WANT_MIRRORED] = "sagemaker_multi_worker_mirrored_strategy_enabled",
    [WANT_TORCH] = "sagemaker_torch_distributed_enabled",
};

static const char *const reserved_keys[] = {
    "sagemaker_program",
    "sagemaker_submit_directory",
    "sagemaker_enable_cloudwatch_metrics",
    "sagemaker_region",
    "sagemaker_container_log_level",
    "sagemaker_job_name",
    "default_user_module_name",
    "_tuning_objective_metric",
    "sagemaker_s3_output",
};

/* Keys that clients send, beyond the reserved ones and the flags; all others may be a slip. */
static const char *const framework_keys[] = {
    PER_HOST_KEY,
    "sagemaker_mpi_num_processes",
    "sagemaker_mpi_custom_mpi_options",
    "sagemaker_distributed_dataparallel_custom_mpi_options",
    "sagemaker_distribution_instance_groups",
    "sagemaker_instance_type",
    "sagemaker_network_interface_name",
    "sagemaker_toolkit_native_launcher_enabled",
    "sagemaker_training_compiler_enabled",
    "sagemaker_training_compiler_debug_mode",
    "sagemaker_recipe_local_path",
    "sagemaker_use_mpi",
    "sagemaker_num_processes",
    "sagemaker_process_slots_per_host",
    "sagemaker_additional_mpi_options",
    "sagemaker_parameter_server_num",
    "sagemaker_estimator_module",
    "sagemaker_estimator_class_name",
};

static const struct {
    const char *name;
    int level;
} log_levels[] = {
    {"DEBUG",    10},
    {"INFO",     20},
    {"WARNING",  30},
    {"WARN",     30},
    {"ERROR",    40},
    {"CRITICAL", 50},
};

static bool starts(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static bool in_list(const char *word, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(word, list[i]) == 0)
            return true;
    return false;
}

/* The value as JSON, short enough for a message; to free(). */
static char *shown(const cJSON *value)
{
    auto_buf struct buf text = {0};
    size_t n;

    json_write(&text, value);
    n = utf8_clip(buf_text(&text), text.len, SHOWN_MAX);
    return mem_printf("%.*s%s", (int)n, buf_text(&text), n < text.len ? "..." : "");
}

static void fault(struct findings *findings, const char *name, const char *expected,
                  const cJSON *found)
{
    auto_free char *text = shown(found);

    findings_fatal(findings, BLAME_CONFIG, FILE_NAME ": /%s: expected %s, found %s", name, expected,
                   text);
}

/* The value behind the text (section 3); NULL after a fatal finding. */
static cJSON *decode(const cJSON *raw, struct findings *findings)
{
    const char *text = json_string(raw);
    struct err err = ERR_INIT;
    cJSON *value;

    if (!text)
        return cJSON_Duplicate(raw, true);
    value = json_parse(text, strlen(text), &err);
    if (value)
        return value;
    if (err.code == -EINVAL)
        return cJSON_CreateString(text);
    (void)err_wrap(&err, FILE_NAME ": /%s", raw->string);
    findings_err(findings, &err);
    return NULL;
}

/* Decodes all and deals them out; the reserved ones go to `reserved`. */
static void split(struct job *job, const cJSON *file, cJSON *reserved, struct findings *findings)
{
    const cJSON *raw;

    cJSON_ArrayForEach (raw, file) {
        const char *name = raw->string;
        cJSON *value;

        if (starts(name, "serried_"))
            continue;
        value = decode(raw, findings);
        if (!value)
            continue;
        if (in_list(name, reserved_keys, LENGTH(reserved_keys)))
            json_add(reserved, name, value);
        else
            json_add(starts(name, "sagemaker_") ? job->framework : job->hyperparameters, name,
                     value);
    }
}

/* NULL if it is not there, null or empty. */
static char *text_of(const cJSON *reserved, const char *name, struct findings *findings)
{
    const cJSON *value = json_get(reserved, name);
    const char *text = json_string(value);

    if (value && !text && !cJSON_IsNull(value))
        fault(findings, name, "a string", value);
    return text && text[0] ? mem_dup(text) : NULL;
}

static char *text_or_empty(const cJSON *reserved, const char *name, struct findings *findings)
{
    char *text = text_of(reserved, name, findings);

    return text ? text : mem_dup("");
}

/* The image may name the program and its folder; for the program it wins, for the folder the
 * hyperparameter does (S-36, S-37). */
static void read_code(struct job *job, const cJSON *reserved, struct findings *findings)
{
    const char *image_program = strv_env(&job->container, "SAGEMAKER_PROGRAM");
    const char *image_folder = strv_env(&job->container, "SAGEMAKER_SUBMIT_DIRECTORY");

    job->program = image_program && image_program[0]
                       ? mem_dup(image_program)
                       : text_of(reserved, "sagemaker_program", findings);
    job->submit_dir = text_of(reserved, "sagemaker_submit_directory", findings);
    if (!job->submit_dir && image_folder && image_folder[0]) {
        job->submit_dir = mem_dup(image_folder);
        job->in_place = !starts(image_folder, "s3://");
    }
    if (!job->submit_dir)
        job->submit_dir = job_path(job, "code");
}

static bool read_level(const cJSON *value, int *level)
{
    const char *text = json_string(value);
    long number;

    for (size_t i = 0; text && i < LENGTH(log_levels); i++)
        if (strcasecmp(text, log_levels[i].name) == 0) {
            *level = log_levels[i].level;
            return true;
        }
    if (text ? !num_integer(text, -LOG_NUMBER_MAX, LOG_NUMBER_MAX, &number)
             : !json_integer(value, -LOG_NUMBER_MAX, LOG_NUMBER_MAX, &number))
        return false;
    *level = number < 10 ? 10 : number > 50 ? 50 : (int)number;
    return true;
}

int job_log_level(const struct job *job)
{
    int level = LOG_DEFAULT;

    (void)read_level(job->log_level, &level);
    return level;
}

static void read_log_level(struct job *job, const cJSON *reserved, struct findings *findings)
{
    static const char key[] = "sagemaker_container_log_level";
    const cJSON *value = json_get(reserved, key);
    int level;

    if (value && !cJSON_IsNull(value) && !read_level(value, &level)) {
        fault(findings, key, "a number such as 20, or DEBUG, INFO, WARNING, ERROR or CRITICAL",
              value);
        value = NULL;
    }
    job->log_level = value && !cJSON_IsNull(value) ? cJSON_Duplicate(value, true)
                                                   : json_new_integer(LOG_DEFAULT);
}

static void read_region(struct job *job, const cJSON *reserved, struct findings *findings)
{
    const char *standard = strv_env(&job->container, "AWS_DEFAULT_REGION");

    job->region = text_of(reserved, "sagemaker_region", findings);
    if (!job->region)
        job->region = mem_dup(standard ? standard : "");
}

/* Unlike Python's truth, the text "false" is false, and what is no flag at all is refused (W28). */
static bool flag(const cJSON *value, const char *name, struct findings *findings)
{
    const char *text = json_string(value);

    if (text && strcasecmp(text, "true") == 0)
        return true;
    if (text && (!text[0] || strcasecmp(text, "false") == 0))
        return false;
    if (text || cJSON_IsArray(value) || cJSON_IsObject(value))
        fault(findings, name, "true or false", value);
    return !text && json_truth(value);
}

static void read_wants(struct job *job, struct findings *findings)
{
    for (int i = 0; i < WANT_COUNT; i++)
        job->want[i] = flag(json_get(job->framework, want_keys[i]), want_keys[i], findings);
}

static void read_per_host(struct job *job, struct findings *findings)
{
    const cJSON *value = json_get(job->framework, PER_HOST_KEY);
    const char *text = json_string(value);
    long number;

    if (!value || cJSON_IsNull(value))
        return;
    if (text ? num_integer(text, 1, PER_HOST_MAX, &number)
             : json_integer(value, 1, PER_HOST_MAX, &number))
        job->per_host = (unsigned)number;
    else
        fault(findings, PER_HOST_KEY, "a whole number from 1 to 65536", value);
}

/* A framework key that nobody knows but that looks like one: most likely misspelt. */
static void check_names(const struct job *job, struct findings *findings)
{
    const char *known[LENGTH(reserved_keys) + LENGTH(framework_keys) + WANT_COUNT];
    const cJSON *parameter;
    size_t n = 0;

    for (size_t i = 0; i < LENGTH(reserved_keys); i++)
        known[n++] = reserved_keys[i];
    for (size_t i = 0; i < LENGTH(framework_keys); i++)
        known[n++] = framework_keys[i];
    for (size_t i = 0; i < WANT_COUNT; i++)
        known[n++] = want_keys[i];
    cJSON_ArrayForEach (parameter, job->framework) {
        const char *name = parameter->string;
        const char *near = in_list(name, known, n) ? NULL : names_nearest(name, known, n);

        if (near)
            findings_warn(findings,
                          FILE_NAME
                          ": /%s: no such key is known and it has no effect; is %s meant?",
                          name, near);
    }
}

/* Tuning jobs under TensorFlow write below a folder of their own (section 12.7). */
static void move_model_dir(struct job *job, const cJSON *reserved)
{
    cJSON *value = json_get(job->hyperparameters, "model_dir");
    const char *folder = json_string(value);
    const char *name = job->training_job ? job->training_job : job->job_name;

    if (job->layer != LAYER_TENSORFLOW || !json_get(reserved, "_tuning_objective_metric"))
        return;
    if (!folder || starts(folder, "/opt/ml") || !name[0])
        return;
    job->model_dir_tf = mem_printf("%s/%s/model", folder, name);
    cJSON_ReplaceItemInObjectCaseSensitive(job->hyperparameters, "model_dir",
                                           cJSON_CreateString(job->model_dir_tf));
}

void hyper_read(struct job *job, const cJSON *file, struct findings *findings)
{
    auto_json cJSON *reserved = cJSON_CreateObject();

    job->hyperparameters = cJSON_CreateObject();
    job->framework = cJSON_CreateObject();
    split(job, file, reserved, findings);
    read_code(job, reserved, findings);
    read_log_level(job, reserved, findings);
    read_region(job, reserved, findings);
    if (json_truth(json_get(reserved, "sagemaker_s3_output")))
        findings_warn(findings, "sagemaker_s3_output: no effect, this version does not upload "
                                "intermediate output");
    job->job_name = text_or_empty(reserved, "sagemaker_job_name", findings);
    read_wants(job, findings);
    read_per_host(job, findings);
    check_names(job, findings);
    move_model_dir(job, reserved);
}
