/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "emulator/hostfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/files.h"
#include "base/mem.h"

#define SCRATCH "/tmp"
#define ROOT    SCRATCH "/r"
#define UPPER   SCRATCH "/up"
#define WORK    SCRATCH "/wk"
#define NO_SET  (MS_NOSUID | MS_NODEV)

/* What the kernel's header calls mount_attr; C libraries have it or not. */
struct attributes {
    uint64_t set, clear, propagation, userns;
};
#define ATTRIBUTE_RDONLY 1
#define AT_ALL_BELOW     0x8000

static int fail(struct err *err, const char *what)
{
    return err_set(err, BLAME_PLATFORM, -errno, "%s: %s", what, strerror(errno));
}

static void touch(const char *path)
{
    int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);

    if (fd >= 0)
        (void)close(fd);
}

static int bind(const char *from, const char *to)
{
    return mount(from, to, NULL, MS_BIND | MS_REC, NULL);
}

static int bind_fd(int fd, const char *to)
{
    char from[64];

    (void)snprintf(from, sizeof(from), "/proc/self/fd/%d", fd);
    return bind(from, to);
}

static int make_read_only(const char *path)
{
    const struct attributes a = {.set = ATTRIBUTE_RDONLY};

    return (int)syscall(SYS_mount_setattr, AT_FDCWD, path, AT_ALL_BELOW, &a, sizeof(a));
}

static int tmpfs(const char *to, unsigned long flags, const char *options)
{
    return mount("tmpfs", to, "tmpfs", flags, options);
}

/* ---- the caller's folders -----------------------------------------------------------------------
 */

enum way {
    WAY_READ,  /* as it is, to be read */
    WAY_WRITE, /* what is written is private, and gone at the end */
    WAY_OWN,   /* the host's own, made later */
};

static enum way way_of(const char *name, bool root)
{
    static const char *const own[] = {"proc", "sys", "dev", "tmp", "run", "lost+found", "boot"};
    static const char *const written[] = {"etc", "opt", "var", "usr", "srv"};

    for (size_t i = 0; i < LENGTH(own); i++)
        if (strcmp(own[i], name) == 0)
            return WAY_OWN;
    for (size_t i = 0; i < LENGTH(written); i++)
        if (strcmp(written[i], name) == 0)
            return WAY_WRITE;
    if (strcmp(name, "root") == 0)
        return root ? WAY_WRITE : WAY_OWN;
    return WAY_READ;
}

static int overlay(const char *name, const char *to, bool root)
{
    auto_free char *upper = mem_printf(UPPER "/%s", name);
    auto_free char *work = mem_printf(WORK "/%s", name);
    auto_free char *options = mem_printf("%slowerdir=/%s,upperdir=%s,workdir=%s",
                                         root ? "" : "userxattr,", name, upper, work);

    (void)mkdir(upper, 0755);
    (void)mkdir(work, 0755);
    return mount("overlay", to, "overlay", 0, options);
}

/* Files that the host must own, or have at all. */
static void seed_etc(const struct hostfs *h)
{
    auto_free char *name = mem_printf("%s\n", h->name);

    (void)mkdir(UPPER "/etc", 0755);
    touch(UPPER "/etc/hosts");
    (void)file_write(UPPER "/etc/hostname", name, strlen(name));
}

/* Where no overlay can lie on /opt: its folders, and room for /opt/ml. */
static int bind_opt(const char *to)
{
    DIR *all;
    const struct dirent *entry;

    if (tmpfs(to, NO_SET, "mode=755") < 0)
        return -1;
    all = opendir("/opt");
    while (all && (entry = readdir(all))) {
        auto_free char *from = mem_printf("/opt/%s", entry->d_name);
        auto_free char *at = mem_printf("%s/%s", to, entry->d_name);

        if (entry->d_name[0] != '.' && strcmp(entry->d_name, "ml") != 0 && mkdir(at, 0755) == 0 &&
            bind(from, at) == 0)
            (void)make_read_only(at);
    }
    if (all)
        (void)closedir(all);
    return 0;
}

static int take_folder(const struct hostfs *h, const char *name, struct err *err)
{
    auto_free char *from = mem_printf("/%s", name);
    auto_free char *to = mem_printf(ROOT "/%s", name);
    enum way way = way_of(name, h->root);

    (void)mkdir(to, 0755);
    if (way == WAY_OWN || (way == WAY_WRITE && overlay(name, to, h->root) == 0))
        return 0;
    if (strcmp(name, "opt") == 0)
        return bind_opt(to) < 0 ? fail(err, to) : 0;
    if (bind(from, to) < 0)
        return errno == EACCES || errno == ENOENT ? 0 : fail(err, from);
    return make_read_only(to) < 0 ? fail(err, from) : 0;
}

static int take_entry(const struct hostfs *h, const char *name, struct err *err)
{
    auto_free char *from = mem_printf("/%s", name);
    auto_free char *to = mem_printf(ROOT "/%s", name);
    char target[PATH_MAX];
    struct stat st;
    ssize_t n;

    if (lstat(from, &st) < 0)
        return 0;
    if (S_ISDIR(st.st_mode))
        return take_folder(h, name, err);
    n = S_ISLNK(st.st_mode) ? readlink(from, target, sizeof(target) - 1) : -1;
    if (n < 0)
        return 0;
    target[n] = '\0';
    return symlink(target, to) < 0 ? fail(err, to) : 0;
}

static int take_all(const struct hostfs *h, struct err *err)
{
    DIR *all = opendir("/");
    const struct dirent *entry;
    int rc = all ? 0 : fail(err, "/");

    while (!rc && (entry = readdir(all)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            rc = take_entry(h, entry->d_name, err);
    if (all)
        (void)closedir(all);
    return rc;
}

/* ---- the host's own
 * ------------------------------------------------------------------------------ */

/* In a sticky folder a device of nobody's could not be opened for writing: 755. */
static void add_device(const char *name, const char *from)
{
    auto_free char *to = mem_printf(ROOT "/dev/%s", name);

    touch(to);
    if (mount(from, to, NULL, MS_BIND, NULL) < 0)
        (void)unlink(to);
}

static void add_devices(const struct hostfs *h)
{
    static const char *const plain[] = {"null", "zero", "full", "random", "urandom", "tty", "fuse"};
    DIR *all = opendir("/dev");
    const struct dirent *entry;
    bool gpus = false;

    for (size_t i = 0; i < LENGTH(plain); i++) {
        auto_free char *from = mem_printf("/dev/%s", plain[i]);

        if (access(from, F_OK) == 0)
            add_device(plain[i], from);
    }
    while (all && (entry = readdir(all))) {
        auto_free char *from = mem_printf("/dev/%s", entry->d_name);
        struct stat st;

        if (strncmp(entry->d_name, "nvidia", 6) != 0 || stat(from, &st) < 0 || !S_ISCHR(st.st_mode))
            continue;
        add_device(entry->d_name, from);
        gpus = true;
    }
    if (all)
        (void)closedir(all);
    for (unsigned i = 0; !gpus && i < h->gpus; i++) {
        auto_free char *name = mem_printf("nvidia%u", i);

        add_device(name, "/dev/null");
    }
}

static int make_dev(const struct hostfs *h, struct err *err)
{
    static const char *const links[][2] = {
        {"pts/ptmx",        ROOT "/dev/ptmx"  },
        {"/proc/self/fd",   ROOT "/dev/fd"    },
        {"/proc/self/fd/0", ROOT "/dev/stdin" },
        {"/proc/self/fd/1", ROOT "/dev/stdout"},
        {"/proc/self/fd/2", ROOT "/dev/stderr"},
    };

    if (tmpfs(ROOT "/dev", MS_NOSUID, "mode=755") < 0)
        return fail(err, "/dev");
    add_devices(h);
    (void)mkdir(ROOT "/dev/pts", 0755);
    (void)mkdir(ROOT "/dev/shm", 0755);
    (void)mount("devpts", ROOT "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC,
                "newinstance,ptmxmode=0666,mode=620");
    if (access("/dev/infiniband", F_OK) == 0 && mkdir(ROOT "/dev/infiniband", 0755) == 0)
        (void)bind("/dev/infiniband", ROOT "/dev/infiniband");
    for (size_t i = 0; i < LENGTH(links); i++)
        (void)!symlink(links[i][0], links[i][1]);
    return tmpfs(ROOT "/dev/shm", NO_SET, "mode=1777") < 0 ? fail(err, "/dev/shm") : 0;
}

static int make_volatile(const struct hostfs *h, struct err *err)
{
    if (tmpfs(ROOT "/tmp", NO_SET, "mode=1777") < 0 || tmpfs(ROOT "/run", NO_SET, "mode=755") < 0)
        return fail(err, "/tmp");
    if (!h->root && tmpfs(ROOT "/root", NO_SET, "mode=700") < 0)
        return fail(err, "/root");
    (void)mkdir(ROOT "/run/lock", 01777);
    if (access(ROOT "/var/tmp", F_OK) == 0)
        (void)tmpfs(ROOT "/var/tmp", NO_SET, "mode=1777");
    return 0;
}

/* A container may hide parts of its own, and then no new one may be mounted. */
static int make_kernel(struct err *err)
{
    if (mount("proc", ROOT "/proc", "proc", NO_SET | MS_NOEXEC, NULL) < 0)
        return fail(err, "a new /proc");
    if (mount("sysfs", ROOT "/sys", "sysfs", NO_SET | MS_NOEXEC | MS_RDONLY, NULL) < 0) {
        if (bind("/sys", ROOT "/sys") < 0)
            return fail(err, "/sys");
    } else {
        (void)bind("/sys/fs/cgroup", ROOT "/sys/fs/cgroup");
    }
    (void)make_read_only(ROOT "/sys");
    return 0;
}

static int make_disk(const struct hostfs *h, struct err *err)
{
    auto_free char *options = mem_printf("mode=755,size=%ldm", h->disk_mib);

    if (!h->disk_mib)
        return 0;
    (void)mkdir(ROOT "/opt/ml/output", 0755);
    if (tmpfs(ROOT "/opt/ml/output", NO_SET, options) < 0)
        return fail(err, "/opt/ml/output");
    (void)mkdir(ROOT "/opt/ml/output/data", 0755);
    return 0;
}

static int make_ml(const struct hostfs *h, int base, int hosts, struct err *err)
{
    if (mkdir(ROOT "/opt", 0755) < 0 && errno != EEXIST)
        return fail(err, "/opt");
    if (mkdir(ROOT "/opt/ml", 0755) < 0 && errno != EEXIST)
        return fail(err, "/opt/ml");
    if (bind_fd(base, ROOT "/opt/ml") < 0)
        return fail(err, h->base);
    if (bind_fd(hosts, ROOT "/etc/hosts") < 0)
        return fail(err, "/etc/hosts");
    return make_disk(h, err);
}

/* The program may lie where the host has something of its own. */
static void show_program(int folder, const char *path)
{
    auto_free char *to = mem_printf(ROOT "%s", path);

    if (access(to, F_OK) == 0 || folder < 0)
        return;
    if (folder_make(to) == 0 && bind_fd(folder, to) == 0)
        (void)make_read_only(to);
}

static void hide(const char *path)
{
    auto_free char *to = path ? mem_printf(ROOT "%s", path) : NULL;

    if (to && access(to, F_OK) == 0)
        (void)tmpfs(to, NO_SET | MS_RDONLY, "mode=755,size=4k");
}

/* ---- the whole
 * ------------------------------------------------------------------------------------ */

static int open_path(const char *path, int flags, struct err *err)
{
    int fd = open(path, O_PATH | O_CLOEXEC | flags);

    return fd < 0 ? fail(err, path) : fd;
}

static int begin(struct err *err)
{
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        return fail(err, "a private mount namespace");
    if (tmpfs(SCRATCH, NO_SET, "mode=755") < 0 || mkdir(UPPER, 0755) < 0 || mkdir(WORK, 0755) < 0 ||
        mkdir(ROOT, 0755) < 0 || tmpfs(ROOT, NO_SET, "mode=755") < 0)
        return fail(err, "room for a root");
    return 0;
}

static int turn(struct err *err)
{
    if (chdir(ROOT) < 0 || syscall(SYS_pivot_root, ".", ".") < 0 || umount2(".", MNT_DETACH) < 0 ||
        chdir("/") < 0)
        return fail(err, "a new root");
    return 0;
}

int hostfs_build(const struct hostfs *h, struct err *err)
{
    auto_free char *folder = path_parent(h->program);
    auto_fd int base = open_path(h->base, O_DIRECTORY, err);
    auto_fd int hosts = base < 0 ? -1 : open_path(h->hosts_file, 0, err);
    auto_fd int program = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int rc = base < 0 || hosts < 0 ? err->code : begin(err);

    if (!rc)
        seed_etc(h);
    if (!rc)
        rc = take_all(h, err);
    if (!rc)
        rc = make_dev(h, err);
    if (!rc)
        rc = make_volatile(h, err);
    if (!rc)
        rc = make_kernel(err);
    if (!rc)
        rc = make_ml(h, base, hosts, err);
    if (rc)
        return rc;
    show_program(program, folder);
    hide(h->hide);
    return turn(err);
}
