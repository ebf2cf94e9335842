/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "emulator/devices.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/files.h"
#include "base/mem.h"
#include "base/strv.h"
#include "emulator/mounts.h"

#define ENTRIES_MAX 10000
#define GPU         "nvidia"

static const char *const nodes[] = {"null", "zero", "full", "random", "urandom", "tty"};
static const char *const kinds[] = {GPU, "infiniband", "neuron"}; /* how their names begin */
static const struct {
    const char *name, *to;
} links[] = {
    {"ptmx",   "pts/ptmx"       },
    {"fd",     "/proc/self/fd"  },
    {"stdin",  "/proc/self/fd/0"},
    {"stdout", "/proc/self/fd/1"},
    {"stderr", "/proc/self/fd/2"},
};

/* Nodes cannot be made in a user namespace; the caller's are shown. */
static int show(const char *folder, const char *name, const char *from, struct err *err)
{
    auto_free char *at = path_join(folder, name);
    int rc = 0;

    if (file_is_folder(from))
        rc = mkdir(at, 0755) < 0 ? -errno : 0;
    else
        rc = file_write(at, "", 0);
    if (rc)
        return err_set(err, BLAME_PLATFORM, rc, "%s: %s", at, strerror(-rc));
    return mounts_bind(from, at, err);
}

static bool is_accelerator(const char *name)
{
    for (size_t i = 0; i < LENGTH(kinds); i++)
        if (strncmp(name, kinds[i], strlen(kinds[i])) == 0)
            return true;
    return false;
}

static int show_accelerators(const char *at, unsigned gpus, struct err *err)
{
    auto_strv struct strv names = {0};

    (void)folder_list("/dev", ENTRIES_MAX, &names);
    for (size_t i = 0; i < names.n; i++) {
        auto_free char *from = path_join("/dev", names.v[i]);

        if (!is_accelerator(names.v[i]))
            continue;
        if (show(at, names.v[i], from, err))
            return err->code;
    }
    if (strv_has(&names, GPU "0"))
        return 0;
    for (unsigned i = 0; i < gpus; i++) {
        auto_free char *name = mem_printf(GPU "%u", i);

        if (show(at, name, "/dev/null", err))
            return err->code;
    }
    return 0;
}

/* The group of terminals has no number where only one gid is mapped. */
static int mount_terminals(const char *at, bool rootless, struct err *err)
{
    static const char options[] = "newinstance,ptmxmode=0666,mode=620";
    auto_free char *pts = path_join(at, "pts");
    auto_free char *grouped = mem_printf("%s,gid=5", options);

    (void)mkdir(pts, 0755);
    if (!rootless && mounts_kernel("devpts", pts, grouped, NULL) == 0)
        return 0;
    return mounts_kernel("devpts", pts, options, err);
}

static int mount_memory(const char *at, struct err *err)
{
    auto_free char *shared = path_join(at, "shm");
    auto_free char *queues = path_join(at, "mqueue");

    (void)mkdir(shared, 0755);
    (void)mkdir(queues, 0755);
    (void)mounts_kernel("mqueue", queues, NULL, NULL);
    return mounts_memory(shared, "mode=1777", err);
}

int devices_mount(const char *at, unsigned gpus, bool rootless, struct err *err)
{
    /* Not 1777: in such a folder opening another's node for writing is refused to shells. */
    if (mounts_memory(at, "mode=755", err))
        return err->code;
    for (size_t i = 0; i < LENGTH(nodes); i++) {
        auto_free char *from = path_join("/dev", nodes[i]);

        if (file_exists(from) && show(at, nodes[i], from, err))
            return err->code;
    }
    if (show_accelerators(at, gpus, err) || mount_terminals(at, rootless, err) ||
        mount_memory(at, err))
        return err->code;
    for (size_t i = 0; i < LENGTH(links); i++) {
        auto_free char *path = path_join(at, links[i].name);

        (void)!symlink(links[i].to, path);
    }
    return 0;
}
