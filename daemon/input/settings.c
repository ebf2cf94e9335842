/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "input/settings.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/files.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/names.h"

#define STANDARD_FILE SYSCONFDIR "/serried/serried.json"
#define FILE_MAX      ((size_t)1 << 20)
#define ENV_PREFIX    "SERRIED_"
#define HYPER_PREFIX  "serried_"

/* Variables of ours that are no settings. */
static const char *const other_variables[] = {"SERRIED_CONFIG", "SERRIED_JOB_KEY", "SERRIED_RUN",
                                              "SERRIED_SOCKET"};

/* Where the text in hand comes from and goes to. */
struct gathering {
    struct settings *settings;
    struct findings *findings;
};

static void set(struct gathering *g, const char *source, const char *name, const char *value)
{
    struct err err = ERR_INIT;

    if (!settings_set(g->settings, name, value, &err))
        return;
    err_wrap(&err, "%s", source);
    findings_err(g->findings, &err);
}

/* A value as the text that settings_set() takes; NULL for what is no plain value. Borrowed. */
static const char *plain_text(const cJSON *node)
{
    if (json_is_number(node))
        return node->valuestring;
    if (cJSON_IsBool(node))
        return cJSON_IsTrue(node) ? "true" : "false";
    return json_string(node);
}

static void set_node(struct gathering *g, const char *source, const char *name, const cJSON *node)
{
    const char *value = plain_text(node);

    if (value)
        set(g, source, name, value);
    else
        findings_fatal(g->findings, BLAME_CONFIG,
                       "%s: %s: expected a string, a number, true or false, found %s", source, name,
                       json_kind(node));
}

/* Overwrites comments outside of strings with spaces, so that places in errors stay true. False:
 * one has no end. */
static bool blank_comments(char *text)
{
    for (char *at = text; *at; at++) {
        if (*at == '"') {
            for (at++; *at && *at != '"'; at++)
                at += *at == '\\' && at[1];
            if (!*at)
                return true;
        } else if (at[0] == '/' && at[1] == '/') {
            while (*at && *at != '\n')
                *at++ = ' ';
            at--;
        } else if (at[0] == '/' && at[1] == '*') {
            const char *end = strstr(at + 2, "*/");

            if (!end)
                return false;
            for (; at < end + 2; at++)
                *at = *at == '\n' ? '\n' : ' ';
            at--;
        }
    }
    return true;
}

static cJSON *read_file(const char *path, struct err *err)
{
    size_t len;
    auto_free char *text = file_read(path, FILE_MAX, &len, err);
    cJSON *tree;

    if (!text)
        return NULL;
    if (!blank_comments(text)) {
        err_set(err, BLAME_CONFIG, -EINVAL, "%s: a comment has no end", path);
        return NULL;
    }
    tree = json_parse_file_text(text, len, err);
    if (!tree)
        err_wrap(err, "%s", path);
    return tree;
}

static void from_file(struct gathering *g, const struct strv *container)
{
    const char *named = strv_env(container, "SERRIED_CONFIG");
    const char *path = named ? named : STANDARD_FILE;
    struct err err = ERR_INIT;
    auto_json cJSON *tree = *path ? read_file(path, &err) : NULL;
    const cJSON *node;

    if (!tree && (!*path || (!named && err.code == -ENOENT)))
        return;
    if (!tree) {
        findings_err(g->findings, &err);
    } else if (!cJSON_IsObject(tree)) {
        findings_fatal(g->findings, BLAME_CONFIG, "%s: expected an object, found %s", path,
                       json_kind(tree));
    } else {
        cJSON_ArrayForEach (node, tree)
            set_node(g, path, node->string, node);
    }
}

/* The setting whose name in upper or lower case and with '_' for '.' is `flat`; NULL: none. */
static const char *from_flat(const char *flat, int (*to_case)(int))
{
    for (const char *const *name = settings_names(); *name; name++) {
        size_t i = 0;

        while ((*name)[i] && flat[i] == ((*name)[i] == '.' ? '_' : to_case((*name)[i])))
            i++;
        if (!(*name)[i] && !flat[i])
            return *name;
    }
    return NULL;
}

/* The nearest to `flat` of all settings' names in that form, as " (did you mean ...?)" or "". To
 * free(). */
static char *nearest_flat(const char *prefix, const char *flat, int (*to_case)(int))
{
    auto_strv struct strv names = {0};
    const char *near;

    for (const char *const *name = settings_names(); *name; name++) {
        auto_free char *text = mem_dup(*name);

        for (char *at = text; *at; at++)
            *at = (char)(*at == '.' ? '_' : to_case(*at));
        strv_add(&names, text);
    }
    near = names_nearest(flat, (const char *const *)strv_list(&names), names.n);
    return near ? mem_printf(" (did you mean %s%s?)", prefix, near) : mem_dup("");
}

static void from_environment(struct gathering *g, const struct strv *container)
{
    for (size_t i = 0; i < container->n; i++) {
        const char *word = container->v[i];
        const char *equals = strchr(word, '=');
        auto_free char *variable = NULL, *source = NULL, *hint = NULL;
        const char *name;
        bool other = false;

        if (strncmp(word, ENV_PREFIX, strlen(ENV_PREFIX)) != 0 || !equals)
            continue;
        variable = mem_dup_n(word, (size_t)(equals - word));
        source = mem_printf("variable %s", variable);
        name = from_flat(variable + strlen(ENV_PREFIX), toupper);
        for (size_t j = 0; j < LENGTH(other_variables); j++)
            other = other || !strcmp(variable, other_variables[j]);
        if (name) {
            set(g, source, name, equals + 1);
        } else if (!other) {
            hint = nearest_flat(ENV_PREFIX, variable + strlen(ENV_PREFIX), toupper);
            findings_warn(g->findings, "%s is no setting and is left alone%s", source, hint);
        }
    }
}

static void from_hyperparameters(struct gathering *g, const cJSON *hyperparameters)
{
    const cJSON *node;

    cJSON_ArrayForEach (node, hyperparameters) {
        auto_free char *source = NULL, *hint = NULL;
        auto_json cJSON *decoded = NULL;
        const char *text = json_string(node);
        const char *name;
        struct err err = ERR_INIT;

        if (strncmp(node->string, HYPER_PREFIX, strlen(HYPER_PREFIX)) != 0)
            continue;
        source = mem_printf("hyperparameter %s", node->string);
        name = from_flat(node->string + strlen(HYPER_PREFIX), tolower);
        decoded = text ? json_parse(text, strlen(text), &err) : NULL;
        if (name) {
            set_node(g, source, name, decoded ? decoded : node);
        } else {
            hint = nearest_flat(HYPER_PREFIX, node->string + strlen(HYPER_PREFIX), tolower);
            findings_fatal(g->findings, BLAME_CONFIG, "%s: unknown setting%s", source, hint);
        }
    }
}

static void from_sets(struct gathering *g, const struct strv *sets)
{
    for (size_t i = 0; i < sets->n; i++) {
        const char *word = sets->v[i];
        size_t n = strcspn(word, "=");
        auto_free char *name = mem_dup_n(word, n);

        if (n && word[n])
            set(g, "--set", name, word + n + 1);
        else
            findings_fatal(g->findings, BLAME_CONFIG, "--set %s: expected NAME=VALUE",
                           *word ? word : "\"\"");
    }
}

void settings_gather(struct settings *s, const struct tree *tree, const struct strv *container,
                     const struct strv *sets, struct findings *findings)
{
    struct gathering g = {s, findings};

    settings_init(s);
    from_file(&g, container);
    from_environment(&g, container);
    from_hyperparameters(&g, tree->hyperparameters);
    from_sets(&g, sets);
}
