/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "ctl/emulate.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/files.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/num.h"
#include "emulator/sdk.h"

#define RANKS_MAX    4096
#define GPUS_MAX     64
#define CHANNELS_MAX 20 /* as the service takes them */
#define NAME_LENGTH  64 /* of a channel or a group */
#define KEY_BYTES    32
#define REGION       "us-east-1"
#define ONE_GROUP    "homogeneousCluster"
#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";

static const struct mode_name {
    const char *name;
    enum rack_mode mode;
} modes[] = {
    {"root",   RACK_ROOT  },
    {"range",  RACK_RANGE },
    {"single", RACK_SINGLE},
};

/* Options that make a job, which a ready one has already. */
static int refuse_beside_tree(const struct emulate_options *o, struct err *err)
{
    const struct given {
        const char *name;
        bool is;
    } all[] = {
        {"ranks",         o->ranks != NULL        },
        {"source",        o->source != NULL       },
        {"entry",         o->entry != NULL        },
        {"distribution",  o->distribution != NULL },
        {"instance-type", o->instance_type != NULL},
        {"hp",            o->hps.n > 0            },
        {"channel",       o->channels.n > 0       },
        {"group",         o->groups.n > 0         },
    };

    for (size_t i = 0; i < LENGTH(all); i++) {
        if (all[i].is)
            return err_set(err, BLAME_USER, -EINVAL, "--%s is for jobs without --tree",
                           all[i].name);
    }
    return 0;
}

static int read_mode(const struct emulate_options *o, enum rack_mode *mode, struct err *err)
{
    if (o->mode && o->no_isolation)
        return err_set(err, BLAME_USER, -EINVAL, "--mode and --no-isolation exclude each other");
    *mode = o->no_isolation ? RACK_LOOSE : RACK_AUTO;
    for (size_t i = 0; o->mode && i < LENGTH(modes); i++) {
        if (!strcmp(modes[i].name, o->mode))
            *mode = modes[i].mode;
    }
    return o->mode && *mode == RACK_AUTO
               ? err_set(err, BLAME_USER, -EINVAL,
                         "--mode: expected root, range or single, found %s", o->mode)
               : 0;
}

static int read_number(const char *name, const char *text, long max, long *out, struct err *err)
{
    if (!num_integer(text, 1, max, out))
        return err_set(err, BLAME_USER, -EINVAL,
                       "--%s: expected a number from 1 to %ld, found %.100s", name, max, text);
    return 0;
}

/* NAME=N[:TYPE] */
static int read_group(struct emulate_job *job, const char *text, struct err *err)
{
    size_t n = strcspn(text, "=");
    const char *count = text[n] ? text + n + 1 : "";
    const char *type = strchr(count, ':');
    auto_free char *name = mem_dup_n(text, n);
    auto_free char *number = mem_dup_n(count, strcspn(count, ":"));
    long hosts;

    if (!n || n > NAME_LENGTH || name[strspn(name, letters)] ||
        !num_integer(number, 1, RACK_HOSTS_MAX, &hosts) || (type && !type[1]))
        return err_set(err, BLAME_USER, -EINVAL,
                       "--group: expected NAME=HOSTS or NAME=HOSTS:TYPE, found %.100s", text);
    if (strv_has(&job->group_names, name) || job->group_names.n == EMULATE_GROUPS_MAX)
        return err_set(err, BLAME_USER, -EINVAL, "--group %.64s: %s", name,
                       strv_has(&job->group_names, name) ? "given twice" : "too many groups");
    strv_add(&job->group_names, name);
    job->groups[job->group_names.n - 1] =
        (struct tree_group){.type = type ? type + 1 : NULL, .hosts = (size_t)hosts};
    return 0;
}

static const char *default_type(const struct emulate_options *o)
{
    if (o->instance_type)
        return o->instance_type;
    return o->gpus && o->gpus[strspn(o->gpus, "0,")] ? "local_gpu" : "local"; /* as local mode */
}

/* Without groups there is one that the platform has a name for. */
static int read_groups(const struct emulate_options *o, struct emulate_job *job, struct err *err)
{
    size_t total = 0;
    long hosts = 0;

    if (o->hosts && read_number("hosts", o->hosts, RACK_HOSTS_MAX, &hosts, err))
        return err->code;
    for (size_t i = 0; i < o->groups.n; i++) {
        if (read_group(job, o->groups.v[i], err))
            return err->code;
    }
    if (!o->groups.n && !o->hosts)
        return err_set(err, BLAME_USER, -EINVAL, "--hosts or --tree is missing");
    if (!o->groups.n)
        job->groups[0].hosts = (size_t)hosts;
    job->tree.groups = job->groups;
    job->tree.n_groups = o->groups.n ? o->groups.n : 1;
    for (size_t i = 0; i < job->tree.n_groups; i++) {
        struct tree_group *group = &job->groups[i];

        group->name = o->groups.n ? job->group_names.v[i] : ONE_GROUP;
        group->type = group->type ? group->type : default_type(o);
        total += group->hosts;
    }
    if (total > RACK_HOSTS_MAX || (hosts && total != (size_t)hosts))
        return err_set(err, BLAME_USER, -EINVAL, "--group: %zu hosts in all, expected %s%ld", total,
                       hosts ? "" : "at most ", hosts ? hosts : RACK_HOSTS_MAX);
    return 0;
}

static int check_channels(const struct strv *channels, struct err *err)
{
    auto_strv struct strv names = {0};

    for (size_t i = 0; i < channels->n; i++) {
        const char *text = channels->v[i];
        auto_free char *name = mem_dup_n(text, strcspn(text, "="));
        const char *folder = text + strlen(name);

        if (!*name || strlen(name) > NAME_LENGTH || name[strspn(name, letters)] ||
            name[strspn(name, ".")] == '\0' || !*folder || !folder[1])
            return err_set(err, BLAME_USER, -EINVAL,
                           "--channel: expected NAME=DIR, the name of letters, digits, . _ and -, "
                           "found %.100s",
                           text);
        if (strv_has(&names, name) || names.n == CHANNELS_MAX)
            return err_set(err, BLAME_USER, -EINVAL, "--channel %.64s: %s", name,
                           strv_has(&names, name) ? "given twice" : "too many channels");
        if (!file_is_folder(folder + 1))
            return err_set(err, BLAME_CONFIG, -ENOTDIR, "--channel %.64s: %.300s: no such folder",
                           name, folder + 1);
        strv_add(&names, name);
    }
    return 0;
}

static int check_env(const struct strv *env, struct err *err)
{
    for (size_t i = 0; i < env->n; i++) {
        const char *text = env->v[i];
        size_t n = strspn(text, letters);

        if (!n || text[n] != '=')
            return err_set(err, BLAME_USER, -EINVAL, "--env: expected NAME=VALUE, found %.100s",
                           text);
    }
    return 0;
}

static int add_random(struct buf *out, size_t bytes, struct err *err)
{
    unsigned char raw[KEY_BYTES];

    if (getrandom(raw, bytes, 0) != (ssize_t)bytes)
        return err_set(err, BLAME_PLATFORM, -EIO, "no random bytes");
    for (size_t i = 0; i < bytes; i++)
        buf_printf(out, "%02x", raw[i]);
    return 0;
}

/* What the platform gives; nothing of the caller's but what makes programs run here as they do
 * outside. The key is new for each job. */
static int make_env(const struct emulate_options *o, struct emulate_job *job, struct err *err)
{
    static const char *const passed[] = {"ASAN_OPTIONS", "LSAN_OPTIONS", "UBSAN_OPTIONS"};
    auto_buf struct buf name = {0}, key = {0};
    const char *path = getenv("PATH");
    const char *home = getenv("HOME");

    buf_str(&name, "emulated-");
    if (add_random(&name, 4, err) || add_random(&key, KEY_BYTES, err))
        return err->code;
    strv_env_set(&job->env, "PATH", path && *path ? path : DEFAULT_PATH);
    if (job->mode == RACK_LOOSE && home) /* else the host has its own */
        strv_env_set(&job->env, "HOME", home);
    for (size_t i = 0; i < LENGTH(passed); i++) {
        if (getenv(passed[i]))
            strv_env_set(&job->env, passed[i], getenv(passed[i]));
    }
    strv_env_set(&job->env, "TRAINING_JOB_NAME", buf_text(&name));
    strv_addf(&job->env,
              "TRAINING_JOB_ARN=arn:aws:sagemaker:" REGION ":000000000000:training-job/%s",
              buf_text(&name));
    strv_env_set(&job->env, "SERRIED_JOB_KEY", buf_text(&key));
    strv_env_merge(&job->env, &o->env);
    return 0;
}

/* The SDK takes an entry point without a folder for a file of its own. */
static int find_source(const struct emulate_options *o, struct emulate_job *job, char **entry,
                       struct err *err)
{
    auto_free char *whole = NULL;

    if (!o->source && !o->entry)
        return 0;
    job->source = mem_dup(o->source ? o->source : o->entry);
    job->tree.source = job->source;
    if (!o->source) {
        const char *slash = strrchr(o->entry, '/');

        *entry = mem_dup(slash ? slash + 1 : o->entry);
        return file_exists(o->entry) && !file_is_folder(o->entry)
                   ? 0
                   : err_set(err, BLAME_CONFIG, -ENOENT, "--entry %.300s: no such file", o->entry);
    }
    if (!file_is_folder(o->source))
        return err_set(err, BLAME_CONFIG, -ENOTDIR, "--source %.300s: no such folder", o->source);
    whole = path_join(o->source, o->entry ? o->entry : "train.py");
    if (file_exists(whole))
        *entry = mem_dup(o->entry ? o->entry : "train.py");
    return *entry || !o->entry ? 0
                               : err_set(err, BLAME_CONFIG, -ENOENT,
                                         "--entry %.200s is not in %.200s", o->entry, o->source);
}

static void add_text(cJSON *values, const char *name, const char *text)
{
    if (text && !json_get(values, name))
        json_add_string(values, name, text);
}

/* The user's own come first: one that is given by hand stays. */
static int make_values(const struct emulate_options *o, struct emulate_job *job, cJSON *values,
                       struct err *err)
{
    auto_json cJSON *dict = o->distribution ? sdk_read(o->distribution, err) : NULL;
    auto_free char *entry = NULL;
    const struct sdk_job sdk = {.distribution = dict,
                                .instance_type = o->groups.n ? NULL : job->groups[0].type,
                                .groups = o->groups.n ? &job->group_names : NULL,
                                .ranks = job->ranks};

    if (o->distribution && !dict)
        return err->code;
    for (size_t i = 0; i < o->hps.n; i++) {
        const char *equals = strchr(o->hps.v[i], '=');
        auto_free char *name = mem_dup_n(o->hps.v[i], strcspn(o->hps.v[i], "="));

        if (!equals)
            return err_set(err, BLAME_USER, -EINVAL, "--hp: expected NAME=VALUE, found %.100s",
                           name);
        if (sdk_user_value(values, name, equals + 1, err))
            return err->code;
    }
    if (sdk_distribution(&sdk, values, err) || find_source(o, job, &entry, err))
        return err->code;
    add_text(values, "sagemaker_program", entry);
    add_text(values, "sagemaker_submit_directory", job->source ? "/opt/ml/code" : NULL);
    add_text(values, "sagemaker_job_name", strv_env(&job->env, "TRAINING_JOB_NAME"));
    add_text(values, "sagemaker_region", REGION);
    if (!json_get(values, "sagemaker_container_log_level"))
        json_add(values, "sagemaker_container_log_level", json_new_integer(20));
    return 0;
}

static int make_job(const struct emulate_options *o, struct emulate_job *job, struct err *err)
{
    auto_json cJSON *values = mem_check(cJSON_CreateObject());

    if (o->ranks && read_number("ranks", o->ranks, RANKS_MAX, &job->ranks, err))
        return err->code;
    if (read_groups(o, job, err) || check_channels(&o->channels, err) ||
        make_values(o, job, values, err) || sdk_encode(values, &job->hyperparameters, err))
        return err->code;
    job->tree.channels = &o->channels;
    job->tree.hyperparameters = job->hyperparameters;
    return 0;
}

int emulate_job_read(const struct emulate_options *o, struct emulate_job *job, struct err *err)
{
    *job = (struct emulate_job){0};
    if (read_mode(o, &job->mode, err) || check_env(&o->env, err) || make_env(o, job, err))
        return err->code;
    return o->tree ? refuse_beside_tree(o, err) : make_job(o, job, err);
}

void emulate_job_done(struct emulate_job *job)
{
    cJSON_Delete(job->hyperparameters);
    strv_done(&job->group_names);
    strv_done(&job->env);
    free(job->source);
}

int emulate_gpus(const char *text, size_t n, unsigned *gpus, struct err *err)
{
    size_t found = 0;

    for (const char *at = text; at && found <= n; found++) {
        size_t length = strcspn(at, ",");
        auto_free char *one = mem_dup_n(at, length);
        long number;

        if (!num_integer(one, 0, GPUS_MAX, &number))
            return err_set(err, BLAME_USER, -EINVAL,
                           "--gpus: expected numbers from 0 to %d with commas, found %.100s",
                           GPUS_MAX, text);
        if (found < n)
            gpus[found] = (unsigned)number;
        at = at[length] ? at + length + 1 : NULL;
    }
    if (found != n && found > 1)
        return err_set(err, BLAME_USER, -EINVAL, "--gpus: %zu hosts, found another count: %.100s",
                       n, text);
    for (size_t i = 1; i < n && found == 1; i++)
        gpus[i] = gpus[0];
    return 0;
}
