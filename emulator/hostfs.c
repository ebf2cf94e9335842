/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "emulator/hostfs.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/files.h"
#include "base/mem.h"
#include "base/strv.h"
#include "emulator/devices.h"
#include "emulator/folders.h"
#include "emulator/layers.h"
#include "emulator/mounts.h"

#define OLD_TABLE_BYTES ((size_t)4 << 20)
#define KEEP_ENTRIES    100000
#define NFTW_FDS        32

/* What must be open before /tmp is covered. */
struct sources {
    int base, hosts, daemon, folder;
};

static int open_source(const char *path, int flags, int *fd, struct err *err)
{
    *fd = open(path, O_PATH | O_CLOEXEC | flags);
    return *fd < 0 ? err_set(err, BLAME_CONFIG, -errno, "%s: %s", path, strerror(errno)) : 0;
}

static int open_sources(const struct hostfs *f, struct sources *s, struct err *err)
{
    auto_free char *folder = path_parent(f->daemon);

    if (open_source(f->base, O_DIRECTORY, &s->base, err) ||
        open_source(f->hosts, 0, &s->hosts, err) || open_source(f->daemon, 0, &s->daemon, err) ||
        open_source(folder, O_DIRECTORY, &s->folder, err))
        return err->code;
    return 0;
}

/* ---- /opt/ml, the names, what is hidden ---- */

static int mount_output(const struct hostfs *f, int *output, struct err *err)
{
    static const char at[] = LAYERS_ROOT HOSTFS_OUTPUT;
    auto_free char *options = mem_printf("mode=755,size=%ldm", f->disk_mib);
    auto_free char *before = path_join(f->base, "output");
    struct folders_bound bound = {KEEP_ENTRIES, f->disk_mib << 20};
    auto_fd int seed = open(at, O_PATH | O_DIRECTORY | O_CLOEXEC);

    if (seed < 0 && (mkdir(at, 0755) < 0 || (seed = open(at, O_PATH | O_CLOEXEC)) < 0))
        return err_set(err, BLAME_CONFIG, -errno, "%s: %s", before, strerror(errno));
    if (mounts_memory(at, options, err))
        return err->code;
    free(TAKE(before));
    before = mem_printf("/proc/self/fd/%d", seed);
    if (folders_copy(before, at, NULL, &bound, err))
        return err->code;
    *output = open(at, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return *output < 0 ? err_set(err, BLAME_PLATFORM, -errno, "%s: %s", at, strerror(errno)) : 0;
}

static int mount_base(const struct hostfs *f, const struct sources *s, int *output, struct err *err)
{
    static const char at[] = LAYERS_ROOT HOSTFS_BASE;

    if (mkdir(at, 0755) < 0 && errno != EEXIST)
        return err_set(err, BLAME_PLATFORM, -errno, "mkdir " HOSTFS_BASE ": %s", strerror(errno));
    if (mounts_bind_fd(s->base, at, err))
        return err->code;
    return f->disk_mib ? mount_output(f, output, err) : 0;
}

/* An empty folder over it, if it can be seen at all. */
static int hide(const char *path, struct err *err)
{
    auto_free char *at = mem_printf(LAYERS_ROOT "%s", path);

    if (!file_is_folder(at))
        return 0;
    return mounts_memory(at, "mode=755,size=4k", err) || mounts_read_only(at, err) ? err->code : 0;
}

/* A daemon of a build folder in /tmp is found where it is for the caller, with what lies beside it;
 * of one in /tmp itself, nothing else is shown. */
static int show_daemon(const struct hostfs *f, const struct sources *s, struct err *err)
{
    auto_free char *at = mem_printf(LAYERS_ROOT "%s", f->daemon);
    auto_free char *folder = path_parent(at);
    bool alone = file_is_folder(folder);
    const char *place = alone ? at : folder;
    int rc;

    if (file_exists(at))
        return 0;
    rc = alone ? file_write(at, "", 0) : folder_make(folder);
    if (rc)
        return err_set(err, BLAME_PLATFORM, rc, "%s: %s", f->daemon, strerror(-rc));
    if (mounts_bind_fd(alone ? s->daemon : s->folder, place, err) || mounts_read_only(place, err))
        return err->code;
    return 0;
}

/* ---- what is the kernel's ---- */

/* A control group namespace shows the own group as the root, as in a container. */
static void mount_groups(void)
{
    static const char at[] = LAYERS_ROOT "/sys/fs/cgroup";

    if (!file_exists("/sys/fs/cgroup/unified") && !file_exists("/sys/fs/cgroup/memory")) {
        (void)mounts_kernel("cgroup2", at, NULL, NULL);
    } else if (mounts_memory(at, "mode=755", NULL) == 0) {
        (void)mkdir(LAYERS_ROOT "/sys/fs/cgroup/memory", 0755);
        (void)mkdir(LAYERS_ROOT "/sys/fs/cgroup/unified", 0755);
        (void)mounts_kernel("cgroup", LAYERS_ROOT "/sys/fs/cgroup/memory", "memory", NULL);
        (void)mounts_kernel("cgroup2", LAYERS_ROOT "/sys/fs/cgroup/unified", NULL, NULL);
    }
    (void)mounts_read_only(at, NULL);
}

static int mount_kernel(struct err *err)
{
    if (mounts_kernel("proc", LAYERS_ROOT "/proc", NULL, err))
        return err->code;
    if (mounts_kernel("sysfs", LAYERS_ROOT "/sys", NULL, NULL) == 0) {
        mount_groups();
        (void)mounts_read_only(LAYERS_ROOT "/sys", NULL);
        return 0;
    }
    return mounts_bind_read_only("/sys", LAYERS_ROOT "/sys", err);
}

static int mount_scratch(struct err *err)
{
    static const struct {
        const char *at, *options;
    } rows[] = {
        {"/tmp",     "mode=1777"},
        {"/run",     "mode=755" },
        {"/var/tmp", "mode=1777"},
    };

    for (size_t i = 0; i < LENGTH(rows); i++) {
        auto_free char *at = mem_printf(LAYERS_ROOT "%s", rows[i].at);

        (void)mkdir(at, 0755);
        if (file_is_folder(at) && mounts_memory(at, rows[i].options, err))
            return err->code;
    }
    (void)mkdir(LAYERS_ROOT "/run/lock", 01777);
    (void)mkdir(LAYERS_ROOT "/run/sshd", 0755);
    return 0;
}

/* ---- the whole ---- */

static int pivot(struct err *err)
{
    if (chdir(LAYERS_ROOT) == 0 && syscall(SYS_pivot_root, ".", ".") == 0 &&
        umount2(".", MNT_DETACH) == 0 && chdir("/") == 0)
        return 0;
    return err_set(err, BLAME_PLATFORM, -errno, "pivot_root: %s", strerror(errno));
}

static int build(const struct hostfs *f, const struct sources *s, const char *table, int *output,
                 struct err *err)
{
    const struct layers layers = {f->name, f->rootless, f->single};

    if (layers_mount(&layers, table, err) || mount_base(f, s, output, err) ||
        mounts_bind_fd(s->hosts, LAYERS_ROOT "/etc/hosts", err) ||
        devices_mount(LAYERS_ROOT "/dev", f->gpus, f->rootless, err) || mount_scratch(err) ||
        mount_kernel(err) || show_daemon(f, s, err) || (f->hide && hide(f->hide, err)) ||
        show_daemon(f, s, err) || pivot(err))
        return err->code;
    return 0;
}

int hostfs_enter(const struct hostfs *f, int *output, struct err *err)
{
    struct sources s = {-1, -1, -1, -1};
    auto_free char *table = file_read("/proc/self/mountinfo", OLD_TABLE_BYTES, NULL, err);
    int rc;

    *output = -1;
    if (!table)
        return err->code;
    rc = open_sources(f, &s, err);
    if (!rc && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        rc = err_set(err, BLAME_PLATFORM, -errno, "make / private: %s", strerror(errno));
    if (!rc)
        rc = build(f, &s, table, output, err);
    cleanup_fd(&s.base);
    cleanup_fd(&s.hosts);
    cleanup_fd(&s.daemon);
    cleanup_fd(&s.folder);
    return rc;
}

int hostfs_seal(struct err *err)
{
    static const char *const places[] = {"/proc/sys", "/proc/sysrq-trigger", "/proc/irq",
                                         "/proc/bus"};

    for (size_t i = 0; i < LENGTH(places); i++)
        if (file_exists(places[i]) && mounts_bind_read_only(places[i], places[i], err))
            return err->code;
    if (mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV, NULL) < 0)
        return err_set(err, BLAME_PLATFORM, -errno, "/ read-only: %s", strerror(errno));
    return 0;
}

/* ---- after its end ---- */

static void empty(const char *folder)
{
    auto_strv struct strv names = {0};

    (void)folder_list(folder, KEEP_ENTRIES, &names);
    for (size_t i = 0; i < names.n; i++) {
        auto_free char *path = path_join(folder, names.v[i]);

        if (unlink(path) < 0)
            (void)folders_remove(path);
    }
}

void hostfs_keep_output(int output, const char *base)
{
    auto_free char *from = mem_printf("/proc/self/fd/%d", output);
    auto_free char *to = path_join(base, "output");
    struct folders_bound bound = {KEEP_ENTRIES, LONG_MAX};
    struct err err = ERR_INIT;

    empty(to);
    (void)folders_copy(from, to, NULL, &bound, &err);
}

static int take_back(const char *path, const struct stat *st, int type, struct FTW *where)
{
    (void)type;
    (void)where;
    if (st->st_uid != 0 || st->st_gid != 0)
        (void)lchown(path, 0, 0);
    return 0;
}

void hostfs_take_back(const char *base)
{
    (void)nftw(base, take_back, NFTW_FDS, FTW_PHYS | FTW_MOUNT);
}
