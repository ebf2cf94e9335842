/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "emulator/layers.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/files.h"
#include "base/mem.h"
#include "base/strv.h"
#include "emulator/mounts.h"

#define SCRATCH     "/tmp"
#define UPPER       SCRATCH "/upper"
#define WORK        SCRATCH "/work"
#define ENTRIES_MAX 10000
#define SEED_BYTES  ((size_t)1 << 20)

/* What becomes of a folder of the root. */
enum fate {
    FATE_READ_ONLY, /* what has no row */
    FATE_EMPTY,     /* something of its own is mounted there later, or it is of no use */
    FATE_LAYER,     /* writable and thrown away */
    FATE_SPLIT, /* the same; where no layer can be, a folder of its own with the caller's entries */
    FATE_HOME   /* a layer for the true root; for others a folder of their own */
};

static const struct {
    const char *name;
    enum fate fate;
} fates[] = {
    {"boot",       FATE_EMPTY},
    {"dev",        FATE_EMPTY},
    {"etc",        FATE_SPLIT},
    {"lost+found", FATE_EMPTY},
    {"opt",        FATE_SPLIT},
    {"proc",       FATE_EMPTY},
    {"root",       FATE_HOME },
    {"run",        FATE_EMPTY},
    {"srv",        FATE_LAYER},
    {"sys",        FATE_EMPTY},
    {"tmp",        FATE_EMPTY},
    {"usr",        FATE_LAYER},
    {"var",        FATE_LAYER},
};

static enum fate fate_of(const char *name)
{
    for (size_t i = 0; i < LENGTH(fates); i++)
        if (strcmp(fates[i].name, name) == 0)
            return fates[i].fate;
    return FATE_READ_ONLY;
}

/* ---- files of /etc that are the host's own ---- */

/* One uid: chown to any other would fail, so the users that programs look for are root. */
static const char single_passwd[] = "root:x:0:0:root:/root:/bin/sh\n"
                                    "sshd:x:0:0::/run/sshd:/usr/sbin/nologin\n"
                                    "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n";
static const char single_group[] = "root:x:0:\ntty:x:0:\nnogroup:x:65534:\n";
/* An account without a line counts as locked. */
static const char shadow[] = "root:*:19000:0:99999:7:::\nsshd:!:19000::::::\n";

static int put(const char *folder, const char *name, const char *text)
{
    auto_free char *path = path_join(folder, name);

    return file_write(path, text, strlen(text));
}

static int copy(const char *folder, const char *name)
{
    auto_free char *path = path_join("/etc", name);
    auto_free char *text = file_read(path, SEED_BYTES, NULL, NULL);

    return put(folder, name, text ? text : "");
}

/* Files of the caller's root cannot be changed in a layer by others, so they are there anew. */
static int seed_etc(const struct layers *l, const char *folder, struct err *err)
{
    auto_free char *name = mem_printf("%s\n", l->name);
    int rc = put(folder, "hosts", ""); /* the shared file is mounted here */

    if (!rc)
        rc = put(folder, "hostname", name);
    if (!rc)
        rc = put(folder, "resolv.conf", "# emulated\n");
    if (!rc)
        rc = l->single ? put(folder, "passwd", single_passwd) : copy(folder, "passwd");
    if (!rc)
        rc = l->single ? put(folder, "group", single_group) : copy(folder, "group");
    if (!rc && l->rootless) {
        auto_free char *path = path_join(folder, "shadow");

        rc = file_write_private(path, shadow, sizeof(shadow) - 1);
    }
    return rc ? err_set(err, BLAME_PLATFORM, rc, "files of /etc: %s", strerror(-rc)) : 0;
}

/* ---- one folder ---- */

static int mount_layer(const struct layers *l, const char *name, const char *at)
{
    auto_free char *options = mem_printf("%slowerdir=/%s,upperdir=" UPPER "/%s,workdir=" WORK "/%s",
                                         l->rootless ? "userxattr," : "", name, name, name);
    auto_free char *work = path_join(WORK, name);

    if (mkdir(work, 0755) < 0 && errno != EEXIST)
        return -errno;
    return mount("overlay", at, "overlay", MS_NODEV, options) < 0 ? -errno : 0;
}

static void link_again(const char *from, const char *to)
{
    char target[PATH_MAX];
    ssize_t n = readlink(from, target, sizeof(target) - 1);

    target[n > 0 ? n : 0] = '\0';
    (void)!symlink(target, to);
}

/* What cannot be mounted (another's FUSE folder, say) stays empty. */
static void show_entry(const char *from, const char *to)
{
    struct stat st;

    if (lstat(from, &st) < 0 || file_exists(to))
        return;
    if (S_ISLNK(st.st_mode)) {
        link_again(from, to);
        return;
    }
    if (S_ISDIR(st.st_mode) ? mkdir(to, 0755) < 0 : file_write(to, "", 0) < 0)
        return;
    (void)mounts_bind_read_only(from, to, NULL);
}

static int split(const char *from, const char *at, const char *seeds, struct err *err)
{
    auto_strv struct strv names = {0};
    auto_strv struct strv own = {0};

    if (mounts_memory(at, "mode=755", err))
        return err->code;
    (void)folder_list(seeds, ENTRIES_MAX, &own);
    for (size_t i = 0; i < own.n; i++) {
        auto_free char *seed = path_join(seeds, own.v[i]);
        auto_free char *text = file_read(seed, SEED_BYTES, NULL, NULL);
        int rc = put(at, own.v[i], text ? text : "");

        if (rc)
            return err_set(err, BLAME_PLATFORM, rc, "%s: %s", from, strerror(-rc));
    }
    (void)folder_list(from, ENTRIES_MAX, &names);
    for (size_t i = 0; i < names.n; i++) {
        auto_free char *source = path_join(from, names.v[i]);
        auto_free char *target = path_join(at, names.v[i]);

        show_entry(source, target);
    }
    return 0;
}

/* A layer covers what is mounted below its folder; that is shown again, but for the files of /etc
 * that a container engine mounts. */
static void uncover(const char *from, const char *table)
{
    auto_strv struct strv places = {0};

    mounts_below(table, from, &places);
    for (size_t i = 0; i < places.n; i++) {
        auto_free char *at = mem_printf(LAYERS_ROOT "%s", places.v[i]);

        if (strncmp(places.v[i], "/etc/", 5) != 0 && file_exists(at))
            (void)mounts_bind_read_only(places.v[i], at, NULL);
    }
}

static int mount_writable(const struct layers *l, const char *name, enum fate fate,
                          const char *table, struct err *err)
{
    auto_free char *from = mem_printf("/%s", name);
    auto_free char *at = mem_printf(LAYERS_ROOT "/%s", name);
    auto_free char *upper = path_join(UPPER, name);

    if (mkdir(upper, fate == FATE_HOME ? 0700 : 0755) < 0)
        return err_set(err, BLAME_PLATFORM, -errno, "%s: %s", upper, strerror(errno));
    if (strcmp(name, "etc") == 0 && seed_etc(l, upper, err))
        return err->code;
    if (mount_layer(l, name, at) == 0) {
        uncover(from, table);
        return 0;
    }
    if (fate == FATE_SPLIT)
        return split(from, at, upper, err);
    return fate == FATE_HOME ? mounts_memory(at, "mode=700", err)
                             : mounts_bind_read_only(from, at, err);
}

static int mount_folder(const struct layers *l, const char *name, const char *table,
                        struct err *err)
{
    auto_free char *from = mem_printf("/%s", name);
    auto_free char *at = mem_printf(LAYERS_ROOT "/%s", name);
    enum fate fate = fate_of(name);

    if (fate == FATE_READ_ONLY) {
        show_entry(from, at);
        return 0;
    }
    if (mkdir(at, 0755) < 0)
        return errno == EEXIST
                   ? 0
                   : err_set(err, BLAME_PLATFORM, -errno, "%s: %s", at, strerror(errno));
    if (fate == FATE_EMPTY)
        return 0;
    if (fate == FATE_HOME && l->rootless)
        return mounts_memory(at, "mode=700", err);
    return mount_writable(l, name, fate, table, err);
}

/* ---- the root ---- */

static int make_scratch(struct err *err)
{
    if (mounts_memory(SCRATCH, "mode=755", err))
        return err->code;
    if (mkdir(UPPER, 0755) < 0 || mkdir(WORK, 0755) < 0 || mkdir(LAYERS_ROOT, 0755) < 0)
        return err_set(err, BLAME_PLATFORM, -errno, "%s: %s", SCRATCH, strerror(errno));
    return mounts_memory(LAYERS_ROOT, "mode=755", err);
}

static int mount_all(const struct layers *l, const struct strv *names, const char *table,
                     struct err *err)
{
    for (size_t i = 0; i < names->n; i++) {
        auto_free char *from = mem_printf("/%s", names->v[i]);
        struct stat st;

        if (lstat(from, &st) < 0)
            continue;
        if (S_ISDIR(st.st_mode) ? mount_folder(l, names->v[i], table, err) : 0)
            return err->code;
        if (S_ISLNK(st.st_mode)) {
            auto_free char *to = mem_printf(LAYERS_ROOT "/%s", names->v[i]);

            link_again(from, to);
        }
    }
    return 0;
}

int layers_mount(const struct layers *l, const char *table, struct err *err)
{
    static const char *const needed[] = {"dev", "etc", "opt", "proc", "root",
                                         "run", "sys", "tmp", "var",  "home"};
    auto_strv struct strv names = {0};
    int rc = folder_list("/", ENTRIES_MAX, &names);

    if (rc)
        return err_set(err, BLAME_PLATFORM, rc, "/: %s", strerror(-rc));
    if (make_scratch(err) || mount_all(l, &names, table, err))
        return err->code;
    for (size_t i = 0; i < LENGTH(needed); i++) {
        auto_free char *at = mem_printf(LAYERS_ROOT "/%s", needed[i]);

        (void)mkdir(at, 0755);
    }
    return 0;
}
