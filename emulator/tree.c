/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "emulator/tree.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/files.h"
#include "base/json.h"
#include "base/mem.h"
#include "emulator/folders.h"

#define FOLDERS_MAX     4096               /* looked at below --tree */
#define FILE_BYTES_MAX  ((size_t)16 << 20) /* of one configuration file */
#define NAME_MAX_BYTES  64                 /* of a host, as the kernel takes it */
#define COPY_ENTRIES    1000000
#define COPY_BYTES      ((off_t)64 << 30)
#define RESOURCE_CONFIG "input/config/resourceconfig.json"

static const char *const folders[] = {"code", "model", "input/config", "input/data", "output/data"};

void tree_hosts_done(struct tree_hosts *hosts)
{
    strv_done(&hosts->names);
    strv_done(&hosts->bases);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void sort(struct strv *names)
{
    if (names->n)
        qsort(names->v, names->n, sizeof(*names->v), by_text);
}

static void add_bases(const char *folder, struct tree_hosts *hosts)
{
    for (size_t i = 0; i < hosts->names.n; i++)
        strv_addf(&hosts->bases, "%s/%s", folder, hosts->names.v[i]);
}

void tree_plan(const struct tree_spec *spec, struct tree_hosts *hosts)
{
    size_t n = 0;

    for (size_t i = 0; i < spec->n_groups; i++)
        n += spec->groups[i].hosts;
    for (size_t i = 0; i < n; i++)
        strv_addf(&hosts->names, "algo-%zu", i + 1);
    sort(&hosts->names);
    add_bases(spec->folder, hosts);
}

static int make_folder(const char *base, const char *name, struct err *err)
{
    auto_free char *path = path_join(base, name);
    int rc = folder_make(path);

    return rc ? err_set(err, BLAME_PLATFORM, rc, "%s cannot be made: %s", path, strerror(-rc)) : 0;
}

static int copy_source(const struct tree_spec *spec, const char *base, struct folders_bound *bound,
                       struct err *err)
{
    auto_free char *code = path_join(base, "code");
    const char *name = strrchr(spec->source, '/');
    auto_free char *file = path_join(code, name ? name + 1 : spec->source);

    if (file_is_folder(spec->source))
        return folders_copy(spec->source, code, spec->folder, bound, err);
    return folders_copy_file(spec->source, file, bound, err);
}

static int copy_channel(const struct tree_spec *spec, const char *base, const char *channel,
                        struct folders_bound *bound, struct err *err)
{
    const char *equals = strchr(channel, '=');
    auto_free char *name = mem_printf("input/data/%.*s", (int)(equals - channel), channel);
    auto_free char *path = path_join(base, name);

    if (make_folder(base, name, err))
        return err->code;
    return folders_copy(equals + 1, path, spec->folder, bound, err);
}

static int make_host(const struct tree_spec *spec, const char *base, struct folders_bound *bound,
                     struct err *err)
{
    for (size_t i = 0; i < LENGTH(folders); i++) {
        if (make_folder(base, folders[i], err))
            return err->code;
    }
    if (spec->source && copy_source(spec, base, bound, err))
        return err_wrap(err, "--source");
    for (size_t i = 0; i < spec->channels->n; i++) {
        if (copy_channel(spec, base, spec->channels->v[i], bound, err))
            return err_wrap(err, "--channel");
    }
    return 0;
}

int tree_make(const struct tree_spec *spec, const struct tree_hosts *hosts, struct err *err)
{
    struct folders_bound bound = {COPY_ENTRIES, COPY_BYTES};

    for (size_t i = 0; i < hosts->names.n; i++) {
        if (make_host(spec, hosts->bases.v[i], &bound, err))
            return err->code;
    }
    return 0;
}

static cJSON *list_of(const struct strv *names)
{
    return mem_check(cJSON_CreateStringArray((const char *const *)strv_list(names), (int)names->n));
}

/* Groups get their hosts by number. */
static size_t group_of(const struct tree_spec *spec, const char *host)
{
    size_t number = strtoul(host + strlen("algo-"), NULL, 10);
    size_t i = 0;

    while (i + 1 < spec->n_groups && number > spec->groups[i].hosts)
        number -= spec->groups[i++].hosts;
    return i;
}

static cJSON *groups_of(const struct tree_spec *spec, const struct tree_hosts *hosts)
{
    cJSON *list = mem_check(cJSON_CreateArray());

    for (size_t i = 0; i < spec->n_groups; i++) {
        cJSON *group = mem_check(cJSON_CreateObject());
        auto_strv struct strv names = {0};

        for (size_t h = 0; h < hosts->names.n; h++) {
            if (group_of(spec, hosts->names.v[h]) == i)
                strv_add(&names, hosts->names.v[h]);
        }
        json_add_string(group, "instance_group_name", spec->groups[i].name);
        json_add_string(group, "instance_type", spec->groups[i].type);
        json_add(group, "hosts", list_of(&names));
        cJSON_AddItemToArray(list, group);
    }
    return list;
}

static cJSON *resources(const struct tree_spec *spec, const struct tree_hosts *hosts,
                        const char *host, const char *interface)
{
    const struct tree_group *group = &spec->groups[group_of(spec, host)];
    cJSON *object = mem_check(cJSON_CreateObject());

    json_add_string(object, "current_host", host);
    json_add_string(object, "current_instance_type", group->type);
    json_add_string(object, "current_group_name", group->name);
    json_add(object, "hosts", list_of(&hosts->names));
    json_add(object, "instance_groups", groups_of(spec, hosts));
    json_add_string(object, "network_interface_name", interface);
    json_add(object, "topology", NULL);
    return object;
}

static cJSON *channels_of(const struct tree_spec *spec)
{
    cJSON *object = mem_check(cJSON_CreateObject());

    for (size_t i = 0; i < spec->channels->n; i++) {
        const char *text = spec->channels->v[i];
        auto_free char *name = mem_dup_n(text, strcspn(text, "="));
        cJSON *channel = mem_check(cJSON_CreateObject());

        json_add_string(channel, "TrainingInputMode", "File");
        json_add_string(channel, "S3DistributionType", "FullyReplicated");
        json_add_string(channel, "RecordWrapperType", "None");
        json_add(object, name, channel);
    }
    return object;
}

static int put(const char *base, const char *name, const cJSON *tree, struct err *err)
{
    auto_free char *path = mem_printf("%s/input/config/%s.json", base, name);
    auto_free char *text = json_python_default(tree);
    int rc = file_write(path, text, strlen(text));

    return rc ? err_set(err, BLAME_PLATFORM, rc, "%s cannot be written: %s", path, strerror(-rc))
              : 0;
}

int tree_configure(const struct tree_spec *spec, const struct tree_hosts *hosts,
                   const char *interface, struct err *err)
{
    auto_json cJSON *channels = channels_of(spec);

    for (size_t i = 0; i < hosts->names.n; i++) {
        const char *base = hosts->bases.v[i];
        auto_json cJSON *own = resources(spec, hosts, hosts->names.v[i], interface);

        if (put(base, "hyperparameters", spec->hyperparameters, err) ||
            put(base, "inputdataconfig", channels, err) || put(base, "resourceconfig", own, err))
            return err->code;
    }
    return 0;
}

/* The names that the file lists and that are there; nothing if it cannot be read: what is wrong
 * with it is for the daemon to say. */
static void add_listed(const char *base, const struct strv *there, struct strv *names)
{
    auto_free char *path = path_join(base, RESOURCE_CONFIG);
    struct err ignored = ERR_INIT;
    auto_json cJSON *tree = json_read(path, FILE_BYTES_MAX, &ignored);
    const cJSON *node;

    cJSON_ArrayForEach (node, json_get(tree, "hosts")) {
        const char *name = json_string(node);

        if (name && strv_has(there, name) && !strv_has(names, name))
            strv_add(names, name);
    }
}

static bool is_host_name(const char *name)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._";

    return strlen(name) <= NAME_MAX_BYTES && *name != '.' && *name != '-' &&
           !name[strspn(name, letters)];
}

static int find_bases(const char *dir, struct strv *there, struct err *err)
{
    auto_strv struct strv names = {0};
    int rc = folder_list(dir, FOLDERS_MAX, &names);

    if (rc)
        return err_set(err, BLAME_CONFIG, rc, "--tree %s: %s", dir, strerror(-rc));
    for (size_t i = 0; i < names.n; i++) {
        auto_free char *path = mem_printf("%s/%s/" RESOURCE_CONFIG, dir, names.v[i]);

        if (!file_exists(path))
            continue;
        if (!is_host_name(names.v[i]))
            return err_set(err, BLAME_CONFIG, -EINVAL, "--tree %s: %.100s is no name of a host",
                           dir, names.v[i]);
        strv_add(there, names.v[i]);
    }
    return there->n
               ? 0
               : err_set(err, BLAME_CONFIG, -ENOENT,
                         "--tree %s: expected folders HOST/" RESOURCE_CONFIG ", found none", dir);
}

int tree_find(const char *dir, struct tree_hosts *hosts, struct err *err)
{
    auto_strv struct strv there = {0};
    auto_free char *whole = realpath(dir, NULL);
    auto_free char *first = NULL;

    if (!whole)
        return err_set(err, BLAME_CONFIG, -errno, "--tree %s: %s", dir, strerror(errno));
    if (find_bases(whole, &there, err) || !there.v)
        return err->code;
    first = path_join(whole, there.v[0]);
    add_listed(first, &there, &hosts->names);
    for (size_t i = 0; i < there.n; i++) {
        if (!strv_has(&hosts->names, there.v[i]))
            strv_add(&hosts->names, there.v[i]);
    }
    add_bases(whole, hosts);
    return 0;
}
