/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "input/facts.h"

#include <errno.h>
#include <limits.h>
#include <net/if.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/files.h"
#include "base/json.h"
#include "base/mem.h"

#define FILE_MAX     ((size_t)1 << 20)
#define ENTRIES_MAX  20000      /* of a folder that is looked through */
#define COUNT_MAX    65536      /* of any device */
#define ARG_ROOM_MAX (6L << 20) /* the kernel's own bound, however large the stack may be */

unsigned facts_devices(const char *dev, const char *kind)
{
    auto_strv struct strv names = {0};
    size_t length = strlen(kind);
    unsigned count = 0;

    (void)folder_list(dev, ENTRIES_MAX, &names);
    for (size_t i = 0; i < names.n; i++) {
        const char *number = names.v[i] + length;

        if (strncmp(names.v[i], kind, length) == 0 && *number &&
            number[strspn(number, "0123456789")] == '\0')
            count++;
    }
    return count;
}

/* A device node is a chip; what counts is its cores. */
static unsigned neuron_cores(const char *instance_type)
{
    static const struct {
        const char *type;
        unsigned cores;
    } chips[] = {
        {"inf1", 4},
        {"inf2", 2},
        {"trn1", 2},
        {"trn2", 4},
    };
    unsigned devices = facts_devices("/dev", "neuron");

    if (strstr(instance_type, "trn2.48xlarge"))
        return 64; /* section 5: whatever is found */
    for (size_t i = 0; i < LENGTH(chips); i++)
        if (strstr(instance_type, chips[i].type))
            return devices * chips[i].cores;
    return devices * 2;
}

/* "2.1.0+cu121" of "torch-2.1.0+cu121.dist-info" or "torch-1.9.0-py3.8.egg-info", to free(). */
static char *version_in(const char *entry, const char *package)
{
    static const char *const ends[] = {".dist-info", ".egg-info"};
    size_t start = strlen(package) + 1;
    size_t n = strlen(entry);

    if (strncmp(entry, package, start - 1) != 0 || entry[start - 1] != '-')
        return NULL;
    for (size_t i = 0; i < LENGTH(ends); i++) {
        size_t end = strlen(ends[i]);

        if (n > start + end && strcmp(entry + n - end, ends[i]) == 0) {
            size_t whole = n - end - start;
            size_t version = strcspn(entry + start, "-");

            return mem_dup_n(entry + start, version < whole ? version : whole);
        }
    }
    return NULL;
}

static char *version_in_folder(const char *folder, const char *package)
{
    auto_strv struct strv entries = {0};
    char *version = NULL;

    (void)folder_list(folder, ENTRIES_MAX, &entries);
    for (size_t i = 0; i < entries.n && !version; i++)
        version = version_in(entries.v[i], package);
    return version;
}

/* Looks through LIB/pythonX.Y/{site,dist}-packages; `only` (NULL: any) is the one X.Y to look at.
 */
static char *version_below(const char *lib, const char *only, const char *package)
{
    static const char *const folders[] = {"site-packages", "dist-packages"};
    auto_strv struct strv pythons = {0};
    char *version = NULL;

    (void)folder_list(lib, ENTRIES_MAX, &pythons);
    for (size_t i = 0; i < pythons.n; i++) {
        const char *name = pythons.v[i];

        if (strncmp(name, "python3", 7) != 0 ||
            (only && strcmp(name, "python3") != 0 && strcmp(name, only) != 0))
            continue;
        for (size_t k = 0; k < LENGTH(folders) && !version; k++) {
            auto_free char *folder = mem_printf("%s/%s/%s", lib, name, folders[k]);

            version = version_in_folder(folder, package);
        }
    }
    return version;
}

/* Cuts "/bin/NAME" off; false where `path` has not that form. */
static bool to_prefix(char *path)
{
    char *slash = strrchr(path, '/');

    if (!slash)
        return false;
    *slash = '\0';
    slash = strrchr(path, '/');
    if (!slash || strcmp(slash, "/bin") != 0)
        return false;
    *slash = '\0';
    return true;
}

char *facts_package_version(const char *python, const char *package)
{
    static const char *const libs[] = {"lib", "local/lib", "lib64"};
    auto_free char *real = realpath(python, NULL);
    auto_free char *name = real ? mem_dup(strrchr(real, '/') + 1) : NULL;
    const char *only = name && strncmp(name, "python3.", 8) == 0 ? name : NULL;
    auto_free char *given = mem_dup(python); /* of a virtual environment: not where it links to */
    const char *prefixes[] = {to_prefix(given) ? given : NULL,
                              real && to_prefix(real) ? real : NULL};
    char *version = NULL;

    for (size_t i = 0; i < LENGTH(prefixes); i++)
        for (size_t k = 0; prefixes[i] && k < LENGTH(libs) && !version; k++) {
            auto_free char *lib = mem_printf("%s/%s", prefixes[i], libs[k]);

            version = version_below(lib, only, package);
        }
    return version;
}

/* What stands where a program of this name was looked for. */
static const char *fault_of(const char *name)
{
    if (!strchr(name, '/'))
        return "which is not on PATH";
    if (file_is_folder(name))
        return "which is a folder";
    return file_exists(name) ? "which cannot be executed" : "which is not there";
}

static char *find_python(const struct settings *settings, const char *path)
{
    char *python;

    if (*settings->python)
        return path_which(settings->python, path);
    python = path_which("python3", path);
    return python ? python : path_which("python", path);
}

/* The kernel's limit for all arguments and variables of a program: a quarter of the limit of the
 * stack, within bounds of its own; less an eighth for what is added to the plan. */
static size_t find_arg_room(void)
{
    long most = sysconf(_SC_ARG_MAX);

    if (most <= 0 || most > ARG_ROOM_MAX)
        most = ARG_ROOM_MAX;
    return (size_t)(most - most / 8);
}

static void list_interfaces(struct strv *out)
{
    struct if_nameindex *all = if_nameindex();

    for (size_t i = 0; all && all[i].if_index; i++)
        strv_add(out, all[i].if_name);
    if (all)
        if_freenameindex(all);
}

static bool on_path(const char *name, const char *path)
{
    auto_free char *found = path_which(name, path);

    return found;
}

void facts_look(struct facts *facts, const struct strv *container, const struct settings *settings,
                const char *instance_type)
{
    const char *path = strv_env(container, "PATH");
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);

    *facts = (struct facts){.own_name_resolves = true};
    facts->num_cpus = cpus > 0 ? (unsigned)cpus : 1;
    facts->num_gpus = facts_devices("/dev", "nvidia");
    facts->num_neurons = neuron_cores(instance_type);
    facts->smddprun = on_path("smddprun", path);
    facts->smddpmprun = on_path("smddpmprun", path);
    facts->python = find_python(settings, path);
    if (!facts->python && *settings->python)
        facts->python_fault = fault_of(settings->python);
    if (facts->python)
        facts->torch_version = facts_package_version(facts->python, "torch");
    if (facts->torch_version) {
        auto_free char *xla = facts_package_version(facts->python, "torch_xla");

        facts->torch_xla = xla;
    }
    list_interfaces(&facts->interfaces);
    facts->arg_room = find_arg_room();
}

enum form { FORM_COUNT, FORM_SWITCH, FORM_TEXT, FORM_LIST };

static const struct key {
    const char *name;
    enum form form;
    size_t field;
} keys[] = {
    {"num_cpus",             FORM_COUNT,  offsetof(struct facts, num_cpus)           },
    {"num_gpus",             FORM_COUNT,  offsetof(struct facts, num_gpus)           },
    {"num_neurons",          FORM_COUNT,  offsetof(struct facts, num_neurons)        },
    {"smddprun_installed",   FORM_SWITCH, offsetof(struct facts, smddprun)           },
    {"smddpmprun_installed", FORM_SWITCH, offsetof(struct facts, smddpmprun)         },
    {"torch_version",        FORM_TEXT,   offsetof(struct facts, torch_version)      },
    {"torch_xla_installed",  FORM_SWITCH, offsetof(struct facts, torch_xla)          },
    {"python_executable",    FORM_TEXT,   offsetof(struct facts, python)             },
    {"python_sys_path",      FORM_LIST,   offsetof(struct facts, python_path)        },
    {"gethostname_library",  FORM_TEXT,   offsetof(struct facts, gethostname_library)},
    {"bucket_region",        FORM_TEXT,   offsetof(struct facts, bucket_region)      },
};

static const char *const form_names[] = {
    [FORM_COUNT] = "a whole number from 0 to 65536",
    [FORM_SWITCH] = "true or false",
    [FORM_TEXT] = "a string or null",
    [FORM_LIST] = "a list of strings",
};

static bool take_count(void *field, const cJSON *value)
{
    long count;

    if (!json_integer(value, 0, COUNT_MAX, &count))
        return false;
    *(unsigned *)field = (unsigned)count;
    return true;
}

static bool take_switch(void *field, const cJSON *value)
{
    if (!cJSON_IsBool(value))
        return false;
    *(bool *)field = cJSON_IsTrue(value);
    return true;
}

static bool take_text(void *field, const cJSON *value)
{
    char **text = field;

    if (!cJSON_IsString(value) && !cJSON_IsNull(value))
        return false;
    free(*text);
    *text = mem_dup(json_string(value));
    return true;
}

static bool take_list(void *field, const cJSON *value)
{
    struct strv *list = field;
    const cJSON *item;

    if (!cJSON_IsArray(value))
        return false;
    cJSON_ArrayForEach (item, value) {
        if (!cJSON_IsString(item))
            return false;
    }
    strv_done(list);
    cJSON_ArrayForEach (item, value) {
        strv_add(list, item->valuestring);
    }
    return true;
}

int facts_read(struct facts *facts, const char *path, struct err *err)
{
    static bool (*const take[])(void *field, const cJSON *value) = {
        [FORM_COUNT] = take_count,
        [FORM_SWITCH] = take_switch,
        [FORM_TEXT] = take_text,
        [FORM_LIST] = take_list,
    };
    auto_json cJSON *tree = json_read(path, FILE_MAX, err);

    if (!tree)
        return err->code;
    if (!cJSON_IsObject(tree))
        return err_set(err, BLAME_CONFIG, -EINVAL, "%s: expected an object, found %s", path,
                       json_kind(tree));
    for (size_t i = 0; i < LENGTH(keys); i++) {
        const cJSON *value = json_get(tree, keys[i].name);

        if (value && !take[keys[i].form]((char *)facts + keys[i].field, value))
            return err_set(err, BLAME_CONFIG, -EINVAL, "%s: /%s: expected %s, found %s", path,
                           keys[i].name, form_names[keys[i].form], json_kind(value));
    }
    if (!facts->num_cpus)
        facts->num_cpus = 1;
    facts->given = true;
    facts->arg_room = 0;
    strv_done(&facts->interfaces);
    return 0;
}
