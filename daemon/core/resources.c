/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/resources.h"

#include <ctype.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "core/job.h"

#define FILE_NAME "resourceconfig.json"
#define HOST_MAX  253 /* bytes of a host name (RFC 1035) */

static void fault(struct findings *findings, const char *place, const char *expected,
                  const cJSON *found)
{
    findings_fatal(findings, BLAME_CONFIG, FILE_NAME ": %s: expected %s, found %s", place, expected,
                   found ? json_kind(found) : "nothing");
}

/* Also a name of folders and an argument of mpirun, so nothing odd. */
static bool is_host_name(const char *name)
{
    size_t n = strlen(name);

    if (n < 1 || n > HOST_MAX || !(isalnum((unsigned char)name[0]) || name[0] == '_'))
        return false;
    for (size_t i = 1; i < n; i++)
        if (!isalnum((unsigned char)name[i]) && !strchr("._-", name[i]))
            return false;
    return true;
}

/* A member that may be absent or null: its text, or `standard`; to free(). */
static char *text_member(const cJSON *file, const char *name, const char *standard,
                         struct findings *findings)
{
    const cJSON *value = json_get(file, name);
    const char *text = json_string(value);

    if (value && !cJSON_IsNull(value) && (!text || !text[0])) {
        auto_free char *place = mem_printf("/%s", name);

        if (text)
            findings_fatal(findings, BLAME_CONFIG, FILE_NAME ": %s: the string is empty", place);
        else
            fault(findings, place, "a string", value);
        text = NULL;
    }
    return mem_dup(text ? text : standard);
}

/* A list of host names, none of them twice, into `out`. */
static void host_list(const cJSON *list, const char *place, struct strv *out,
                      struct findings *findings)
{
    const cJSON *item;

    if (!cJSON_IsArray(list)) {
        fault(findings, place, "a list of strings", list);
        return;
    }
    cJSON_ArrayForEach (item, list) {
        const char *name = json_string(item);

        if (!name)
            findings_fatal(findings, BLAME_CONFIG,
                           FILE_NAME ": %s/%zu: expected a string, found %s", place, out->n,
                           json_kind(item));
        else if (!is_host_name(name))
            findings_fatal(findings, BLAME_CONFIG,
                           FILE_NAME ": %s/%zu: expected the name of a host, found \"%.60s\"",
                           place, out->n, name);
        else if (strv_has(out, name))
            findings_fatal(findings, BLAME_CONFIG, FILE_NAME ": %s: %s is there twice", place,
                           name);
        else {
            strv_add(out, name);
            continue;
        }
        return;
    }
}

static void read_hosts(struct job *job, const cJSON *file, struct findings *findings)
{
    const cJSON *host = json_get(file, "current_host");
    const cJSON *hosts = json_get(file, "hosts");

    host_list(hosts, "/hosts", &job->hosts, findings);
    if (cJSON_IsArray(hosts) && cJSON_GetArraySize(hosts) == 0)
        findings_fatal(findings, BLAME_CONFIG, FILE_NAME ": /hosts: the list is empty");
    if (!json_string(host))
        fault(findings, "/current_host", "a string", host);
    else if (job->hosts.n && !strv_has(&job->hosts, json_string(host)))
        findings_fatal(findings, BLAME_CONFIG,
                       FILE_NAME ": /current_host: expected one of /hosts, found \"%.60s\"",
                       json_string(host));
    else if (job->hosts.n)
        job->host = mem_dup(json_string(host));
}

/* One entry of instance_groups; false after a fatal finding. */
static bool read_group(struct job *job, const cJSON *entry, size_t index, struct findings *findings)
{
    auto_free char *place = mem_printf("/instance_groups/%zu", index);
    auto_free char *name_place = mem_printf("%s/instance_group_name", place);
    auto_free char *hosts_place = mem_printf("%s/hosts", place);
    auto_strv struct strv hosts = {0};
    const char *name = json_string(json_get(entry, "instance_group_name"));
    size_t before = findings->n;

    if (!cJSON_IsObject(entry))
        fault(findings, place, "an object", entry);
    else if (!name || !name[0])
        fault(findings, name_place, "a name", json_get(entry, "instance_group_name"));
    else if (strv_has(&job->group_names, name))
        findings_fatal(findings, BLAME_CONFIG, FILE_NAME ": %s: %.60s is there twice", name_place,
                       name);
    else
        host_list(json_get(entry, "hosts"), hosts_place, &hosts, findings);
    for (size_t i = 0; i < hosts.n && findings->n == before; i++)
        if (!strv_has(&job->hosts, hosts.v[i]))
            findings_fatal(findings, BLAME_CONFIG,
                           FILE_NAME ": %s: expected hosts of /hosts, found \"%s\"", hosts_place,
                           hosts.v[i]);
    if (findings->n != before)
        return false;
    strv_add(&job->group_names, name);
    return true;
}

static void read_groups(struct job *job, const cJSON *file, struct findings *findings)
{
    const cJSON *groups = json_get(file, "instance_groups");
    const cJSON *entry;
    size_t index = 0;

    job->groups = cJSON_CreateArray();
    if (groups && !cJSON_IsNull(groups) && !cJSON_IsArray(groups))
        fault(findings, "/instance_groups", "a list of objects", groups);
    if (!cJSON_IsArray(groups))
        return;
    cJSON_ArrayForEach (entry, groups) {
        if (read_group(job, entry, index++, findings))
            cJSON_AddItemToArray(job->groups, cJSON_Duplicate(entry, true));
    }
}

static void read_topology(struct job *job, const cJSON *file, struct findings *findings)
{
    const cJSON *topology = json_get(file, "topology");

    if (topology && !cJSON_IsNull(topology) && !cJSON_IsArray(topology))
        fault(findings, "/topology", "a list", topology);
    job->topology = cJSON_IsArray(topology) ? cJSON_Duplicate(topology, true) : cJSON_CreateArray();
}

static bool group_has(const cJSON *group, const char *host)
{
    const cJSON *item;

    cJSON_ArrayForEach (item, json_get(group, "hosts")) {
        if (strcmp(json_string(item), host) == 0)
            return true;
    }
    return false;
}

static const char *group_name(const cJSON *group)
{
    return json_string(json_get(group, "instance_group_name"));
}

static void add_group_hosts(const cJSON *group, struct strv *out)
{
    const cJSON *item;

    cJSON_ArrayForEach (item, json_get(group, "hosts")) {
        strv_add(out, json_string(item));
    }
}

static void replace_text(cJSON *object, const char *name, const char *text)
{
    if (text && json_get(object, name))
        cJSON_ReplaceItemInObjectCaseSensitive(object, name, cJSON_CreateString(text));
}

/* Turns this host's view into that of another: what the platform writes on that one. */
static void view_from(struct job *job, const char *host, struct findings *findings)
{
    const cJSON *group;

    if (!strv_has(&job->hosts, host)) {
        findings_fatal(
            findings, BLAME_CONFIG,
            FILE_NAME ": /hosts: %s is not a host of this job, so there is no plan for it", host);
        return;
    }
    replace_text(job->resource_config, "current_host", host);
    cleanup_free(&job->host);
    job->host = mem_dup(host);
    cJSON_ArrayForEach (group, job->groups) {
        if (!group_has(group, host))
            continue;
        replace_text(job->resource_config, "current_group_name", group_name(group));
        replace_text(job->resource_config, "current_instance_type",
                     json_string(json_get(group, "instance_type")));
    }
}

static void read_group_hosts(struct job *job, struct findings *findings)
{
    const cJSON *group;

    cJSON_ArrayForEach (group, job->groups) {
        if (strcmp(group_name(group), job->group) == 0)
            add_group_hosts(group, &job->group_hosts);
    }
    if (job->group_names.n && !strv_has(&job->group_names, job->group))
        findings_warn(findings,
                      FILE_NAME ": /current_group_name: %.60s is none of /instance_groups, so this "
                                "host takes part in no distribution",
                      job->group);
}

/* The names in sagemaker_distribution_instance_groups, which must be a list of known ones (W28). */
static void read_named_groups(struct job *job, const cJSON *names, struct findings *findings)
{
    static const char place[] =
        "hyperparameters.json: /sagemaker_distribution_instance_groups: expected";
    const cJSON *item;

    if (!cJSON_IsArray(names))
        findings_fatal(findings, BLAME_CONFIG, "%s a list of group names, found %s", place,
                       json_kind(names));
    cJSON_ArrayForEach (item, names) {
        const char *name = json_string(item);

        if (!name)
            findings_fatal(findings, BLAME_CONFIG, "%s names of groups, found %s", place,
                           json_kind(item));
        else if (job->group_names.n && !strv_has(&job->group_names, name)) {
            auto_free char *known = strv_join(&job->group_names, ", ");

            findings_fatal(findings, BLAME_CONFIG, "%s names out of %s, found \"%.60s\"", place,
                           known, name);
        } else
            strv_add(&job->dist_groups, name);
    }
}

/* Who runs the distributed program, and who leads (section 6). */
static void distribute(struct job *job, struct findings *findings)
{
    const cJSON *named = json_get(job->framework, "sagemaker_distribution_instance_groups");
    const cJSON *group;
    bool wanted = false;

    for (int i = 0; i < WANT_COUNT; i++)
        wanted = wanted || job->want[i];
    if (named && !cJSON_IsNull(named))
        read_named_groups(job, named, findings);
    else if (wanted)
        strv_add(&job->dist_groups, job->group);
    cJSON_ArrayForEach (group, job->groups) {
        if (strv_has(&job->dist_groups, group_name(group)))
            add_group_hosts(group, &job->dist_hosts);
    }
    if (!job->group_names.n)
        strv_add_all(&job->dist_hosts, &job->hosts);
    if (job->dist_hosts.n || job->hosts.n)
        job->leader = mem_dup(job->dist_hosts.n ? job->dist_hosts.v[0] : job->hosts.v[0]);
    else
        job->leader = mem_dup("");
    job->is_leader = job->host[0] && strcmp(job->host, job->leader) == 0;
    job->takes_part = strv_has(&job->dist_groups, job->group);
}

/* An interface that is there: alone, the loopback will do; with peers it never does (case 36). */
static const char *other_interface(const struct job *job)
{
    const struct strv *there = &job->facts.interfaces;

    if (job->hosts.n == 1 && strv_has(there, "lo"))
        return "lo";
    for (size_t i = 0; i < there->n; i++)
        if (strcmp(there->v[i], "lo") != 0)
            return there->v[i];
    return there->v[0];
}

static void choose_interface(struct job *job, const cJSON *file, struct findings *findings)
{
    const struct strv *there = &job->facts.interfaces;
    auto_free char *named = text_member(file, "network_interface_name", "eth0", findings);
    const char *chosen = named;

    if (there->n && !strv_has(there, named)) {
        auto_free char *all = strv_join(there, ", ");

        chosen = other_interface(job);
        findings_warn(findings,
                      FILE_NAME
                      ": /network_interface_name: this host has no %.60s but %s; %s is used",
                      named, all, chosen);
    }
    job->interface = mem_dup(chosen);
}

void resources_read(struct job *job, const cJSON *file, const char *as_host,
                    struct findings *findings)
{
    job->resource_config = file ? cJSON_Duplicate(file, true) : cJSON_CreateObject();
    if (file) {
        read_hosts(job, file, findings);
        read_groups(job, file, findings);
    } else
        job->groups = cJSON_CreateArray();
    if (as_host && job->hosts.n)
        view_from(job, as_host, findings);
    if (!job->host)
        job->host = mem_dup("");
    read_topology(job, file, findings);
    job->instance_type =
        text_member(job->resource_config, "current_instance_type", "local", findings);
    job->group =
        text_member(job->resource_config, "current_group_name", "homogeneousCluster", findings);
    choose_interface(job, file, findings);
    read_group_hosts(job, findings);
    distribute(job, findings);
}
