/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "input/tree.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/files.h"
#include "base/mem.h"

#define NAMES_MAX 10000 /* names of the code folder that are looked at */

static const struct {
    const char *name;
    size_t field;       /* where in struct tree */
    const char *absent; /* what its absence means; NULL: the job cannot run without it */
} config_files[] = {
    {"hyperparameters.json", offsetof(struct tree, hyperparameters), "there are none"       },
    {"resourceconfig.json",  offsetof(struct tree, resourceconfig),  NULL                   },
    {"inputdataconfig.json", offsetof(struct tree, inputdataconfig), "there are no channels"},
};

char *tree_base(const char *option, const struct strv *container)
{
    const char *variable = strv_env(container, "SAGEMAKER_BASE_DIR");
    const char *base = option && option[0]       ? option
                       : variable && variable[0] ? variable
                                                 : "/opt/ml";
    char here[PATH_MAX];
    auto_free char *path = NULL;

    if (base[0] == '/')
        return path_normal(base);
    if (!getcwd(here, sizeof(here)))
        return mem_dup(base);
    path = path_join(here, base);
    return path_normal(path);
}

static cJSON *read_object(const char *path, const char *absent, struct findings *findings)
{
    auto_json cJSON *tree = NULL;
    struct err err = ERR_INIT;

    tree = json_read(path, TREE_FILE_MAX, &err);
    if (tree && cJSON_IsObject(tree))
        return TAKE(tree);
    if (tree)
        findings_fatal(findings, BLAME_CONFIG, "%s: expected an object, found %s", path,
                       json_kind(tree));
    else if (err.code != -ENOENT)
        findings_err(findings, &err);
    else if (absent)
        findings_warn(findings, "%s: no such file, so %s", path, absent);
    else
        findings_fatal(findings, BLAME_CONFIG, "%s: no such file; --base names another folder",
                       path);
    return NULL;
}

void tree_read(const char *base, struct tree *tree, struct findings *findings)
{
    tree->base = mem_dup(base);
    if (!file_is_folder(base)) {
        findings_fatal(findings, BLAME_CONFIG,
                       "%s: no such folder, so there is no input/config/resourceconfig.json; "
                       "--base names another folder",
                       base);
        return;
    }
    for (size_t i = 0; i < LENGTH(config_files); i++) {
        auto_free char *below = mem_printf("input/config/%s", config_files[i].name);
        auto_free char *path = path_join(base, below);
        cJSON **object = (cJSON **)(void *)((char *)tree + config_files[i].field);

        *object = read_object(path, config_files[i].absent, findings);
    }
}

int tree_list(const char *dir, struct strv *names)
{
    return folder_list(dir, NAMES_MAX, names);
}
