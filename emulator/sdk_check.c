/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "emulator/sdk_check.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/json.h"
#include "base/names.h"
#include "base/num.h"
#include "base/strv.h"

#define PROCESSES_MAX 4096

enum kind { KIND_BOOL, KIND_COUNT, KIND_TEXT, KIND_OBJECT, KIND_POSITIVE, KIND_SHARE, KIND_CHOICE };

static const struct member {
    const char *form;
    const char *name;
    enum kind kind;
    const char *choices; /* of KIND_CHOICE, with a blank around each */
} members[] = {
    {"mpi",                            "enabled",              KIND_BOOL,     NULL                                },
    {"mpi",                            "processes_per_host",   KIND_COUNT,    NULL                                },
    {"mpi",                            "custom_mpi_options",   KIND_TEXT,     NULL                                },
    {"pytorchddp",                     "enabled",              KIND_BOOL,     NULL                                },
    {"pytorchddp",                     "custom_mpi_options",   KIND_TEXT,     NULL                                },
    {"torch_distributed",              "enabled",              KIND_BOOL,     NULL                                },
    {"pytorchxla",                     "enabled",              KIND_BOOL,     NULL                                },
    {"parameter_server",               "enabled",              KIND_BOOL,     NULL                                },
    {"multi_worker_mirrored_strategy", "enabled",              KIND_BOOL,     NULL                                },
    {"smdistributed",                  "dataparallel",         KIND_OBJECT,   NULL                                },
    {"smdistributed",                  "modelparallel",        KIND_OBJECT,   NULL                                },
    {"dataparallel",                   "enabled",              KIND_BOOL,     NULL                                },
    {"dataparallel",                   "custom_mpi_options",   KIND_TEXT,     NULL                                },
    {"modelparallel",                  "enabled",              KIND_BOOL,     NULL                                },
    {"modelparallel",                  "parameters",           KIND_OBJECT,   NULL                                },
    {"parameters",                     "pipeline",             KIND_CHOICE,   " simple interleaved _only_forward "},
    {"parameters",                     "placement_strategy",   KIND_CHOICE,   " spread cluster "                  },
    {"parameters",                     "optimize",             KIND_CHOICE,   " speed memory "                    },
    {"parameters",                     "microbatches",         KIND_POSITIVE, NULL                                },
    {"parameters",                     "partitions",           KIND_POSITIVE, NULL                                },
    {"parameters",                     "active_microbatches",  KIND_POSITIVE, NULL                                },
    {"parameters",                     "auto_partition",       KIND_BOOL,     NULL                                },
    {"parameters",                     "contiguous",           KIND_BOOL,     NULL                                },
    {"parameters",                     "load_partition",       KIND_BOOL,     NULL                                },
    {"parameters",                     "horovod",              KIND_BOOL,     NULL                                },
    {"parameters",                     "ddp",                  KIND_BOOL,     NULL                                },
    {"parameters",                     "deterministic_server", KIND_BOOL,     NULL                                },
    {"parameters",                     "memory_weight",        KIND_SHARE,    NULL                                },
};

static const char *const forms[] = {
    "mpi",
    "smdistributed",
    "pytorchddp",
    "torch_distributed",
    "pytorchxla",
    "parameter_server",
    "multi_worker_mirrored_strategy",
    "instance_groups",
};

bool sdk_is_on(const cJSON *form)
{
    return json_truth(json_get(form, "enabled"));
}

static int wrong(struct err *err, const char *form, const cJSON *node, const char *expected)
{
    return err_set(err, BLAME_CONFIG, -EINVAL, "distribution: %s: %s: expected %s, found %s", form,
                   node->string, expected, json_kind(node));
}

static bool is_choice(const struct member *member, const cJSON *node)
{
    auto_buf struct buf word = {0};

    if (!json_string(node) || strchr(json_string(node), ' '))
        return false;
    buf_printf(&word, " %s ", json_string(node));
    return strstr(member->choices, buf_text(&word)) != NULL;
}

static bool is_share(const cJSON *node)
{
    double value = json_is_number(node) ? num_read(node->valuestring) : -1;

    return value >= 0 && value <= 1;
}

/* What was expected, NULL if the value is that. */
static const char *check_value(const struct member *member, const cJSON *node)
{
    long n;

    switch (member->kind) {
    case KIND_BOOL:
        return cJSON_IsBool(node) ? NULL : "true or false";
    case KIND_COUNT:
        return cJSON_IsNull(node) || json_integer(node, 0, PROCESSES_MAX, &n)
                   ? NULL
                   : "a number of processes";
    case KIND_TEXT:
        return json_string(node) ? NULL : "a string";
    case KIND_OBJECT:
        return cJSON_IsObject(node) ? NULL : "an object";
    case KIND_POSITIVE:
        return json_integer(node, 1, LONG_MAX, &n) ? NULL : "a positive whole number";
    case KIND_SHARE:
        return is_share(node) ? NULL : "a number from 0 to 1";
    case KIND_CHOICE:
        return is_choice(member, node) ? NULL : member->choices;
    }
    return NULL;
}

/* A member that the SDK does not know is one that it does not look at; but a slip of the pen is not
 * meant to be that. */
static int check_unknown(const char *form, const cJSON *node, struct err *err)
{
    const char *names[LENGTH(members)];
    const char *near;
    size_t n = 0;

    for (size_t i = 0; i < LENGTH(members); i++) {
        if (!strcmp(members[i].form, form))
            names[n++] = members[i].name;
    }
    near = names_nearest(node->string, names, n);
    if (!near || !strcmp(form, "parameters"))
        return 0;
    return err_set(err, BLAME_CONFIG, -EINVAL,
                   "distribution: %s: unknown %.100s (did you mean %s?)", form, node->string, near);
}

static int check_members(const char *form, const cJSON *object, struct err *err)
{
    const cJSON *node;

    cJSON_ArrayForEach (node, object) {
        const struct member *member = NULL;
        const char *expected;

        for (size_t i = 0; i < LENGTH(members) && !member; i++) {
            if (!strcmp(members[i].form, form) && !strcmp(members[i].name, node->string))
                member = &members[i];
        }
        if (!member) {
            if (check_unknown(form, node, err))
                return err->code;
            continue;
        }
        expected = check_value(member, node);
        if (expected)
            return wrong(err, form, node, expected);
        if (member->kind == KIND_OBJECT && check_members(member->name, node, err))
            return err->code;
    }
    return 0;
}

static int check_form(const cJSON *node, struct err *err)
{
    const char *near = names_nearest(node->string, forms, LENGTH(forms));
    bool known = false;

    for (size_t i = 0; i < LENGTH(forms); i++)
        known = known || !strcmp(forms[i], node->string);
    if (!known)
        return err_set(err, BLAME_CONFIG, -EINVAL, "distribution: unknown form %.100s%s%s%s",
                       node->string, near ? " (did you mean " : "", near ? near : "",
                       near ? "?)" : "");
    if (!strcmp(node->string, "instance_groups"))
        return 0;
    if (!cJSON_IsObject(node))
        return err_set(err, BLAME_CONFIG, -EINVAL,
                       "distribution: %s: expected an object such as {\"enabled\": true}, found %s",
                       node->string, json_kind(node));
    return check_members(node->string, node, err);
}

/* "smdistributed": {"enabled": ...} is seen in documents; the SDK takes the two for strategies. */
static int check_strategy(const cJSON *smd, struct err *err)
{
    const cJSON *node;

    if (cJSON_GetArraySize(smd) > 1)
        return err_set(err, BLAME_CONFIG, -EINVAL,
                       "distribution: smdistributed: expected one of dataparallel and modelparallel"
                       ", found %d members",
                       cJSON_GetArraySize(smd));
    cJSON_ArrayForEach (node, smd) {
        if (strcmp(node->string, "dataparallel") != 0 && strcmp(node->string, "modelparallel") != 0)
            return err_set(err, BLAME_CONFIG, -EINVAL,
                           "distribution: smdistributed: expected dataparallel or modelparallel, "
                           "found %.100s",
                           node->string);
    }
    return 0;
}

static int check_parameters(const cJSON *parameters, struct err *err)
{
    bool ddp = json_truth(json_get(parameters, "ddp"));
    const cJSON *by_itself = json_get(parameters, "auto_partition");

    if (!ddp && (json_get(parameters, "ddp_port") || json_get(parameters, "ddp_dist_backend")))
        return err_set(err, BLAME_CONFIG, -EINVAL,
                       "distribution: modelparallel: ddp_port and ddp_dist_backend need ddp");
    if (ddp && json_truth(json_get(parameters, "horovod")))
        return err_set(err, BLAME_CONFIG, -EINVAL,
                       "distribution: modelparallel: ddp and horovod exclude each other");
    if (by_itself && !json_truth(by_itself) && !json_get(parameters, "default_partition"))
        return err_set(err, BLAME_CONFIG, -EINVAL,
                       "distribution: modelparallel: auto_partition false needs default_partition");
    return 0;
}

static const struct pair { /* forms that the SDK does not take together */
    const char *one, *other;
} pairs[] = {
    {"pytorchddp",                     "smdistributed"   },
    {"multi_worker_mirrored_strategy", "smdistributed"   },
    {"multi_worker_mirrored_strategy", "parameter_server"},
};

static int check_pairs(const cJSON *dict, struct err *err)
{
    for (size_t i = 0; i < LENGTH(pairs); i++) {
        if (json_get(dict, pairs[i].one) && json_get(dict, pairs[i].other))
            return err_set(err, BLAME_CONFIG, -EINVAL,
                           "distribution: %s and %s cannot be used together", pairs[i].one,
                           pairs[i].other);
    }
    return 0;
}

static int check_machine(const struct sdk_job *job, struct err *err)
{
    const cJSON *dict = job->distribution;
    const char *type = job->instance_type;
    bool smd = json_get(dict, "smdistributed") || json_get(dict, "pytorchddp");

    if (!type)
        return 0;
    if (strstr(type, "p5.48xlarge") && smd && !json_get(dict, "torch_distributed"))
        return err_set(err, BLAME_CONFIG, -EINVAL,
                       "distribution: smdistributed is not there for %s, but beside "
                       "torch_distributed",
                       type);
    if (!strncmp(type, "ml.trn", 6) &&
        (!json_get(dict, "torch_distributed") || cJSON_GetArraySize(dict) > 1))
        return err_set(err, BLAME_CONFIG, -EINVAL,
                       "distribution: %s takes torch_distributed alone, found %s", type,
                       dict->child ? dict->child->string : "nothing");
    return 0;
}

static int check_groups(const struct sdk_job *job, struct err *err)
{
    const cJSON *named = json_get(job->distribution, "instance_groups");
    size_t there = job->groups ? job->groups->n : 0;
    size_t n = (size_t)cJSON_GetArraySize(named);
    const cJSON *node;

    if (named && !cJSON_IsArray(named))
        return err_set(err, BLAME_CONFIG, -EINVAL,
                       "distribution: instance_groups: expected a list of names, found %s",
                       json_kind(named));
    cJSON_ArrayForEach (node, named) {
        if (!json_string(node))
            return err_set(err, BLAME_CONFIG, -EINVAL,
                           "distribution: instance_groups: expected names, found %s",
                           json_kind(node));
        if (!there || !strv_has(job->groups, json_string(node)))
            return err_set(err, BLAME_CONFIG, -EINVAL,
                           "distribution: instance_groups: no group %.64s is given by --group",
                           json_string(node));
    }
    if (there > 1 && n != 1)
        return err_set(err, BLAME_CONFIG, -EINVAL,
                       "distribution: instance_groups: expected the name of one of the %zu groups, "
                       "found %zu",
                       there, n);
    return 0;
}

int sdk_check(const struct sdk_job *job, struct err *err)
{
    const cJSON *dict = job->distribution;
    const cJSON *smd = json_get(dict, "smdistributed");
    const cJSON *node;

    cJSON_ArrayForEach (node, dict) {
        if (check_form(node, err))
            return err->code;
    }
    if (check_strategy(smd, err) || check_pairs(dict, err) ||
        check_parameters(json_get(json_get(smd, "modelparallel"), "parameters"), err) ||
        check_machine(job, err))
        return err->code;
    return check_groups(job, err);
}
