/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "emulator/folders.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/files.h"
#include "base/mem.h"

#define MODE_MASK   0777
#define CHUNK_BYTES ((size_t)1 << 20)

struct copy {
    struct folders_bound *bound;
    struct stat without; /* all zero: none */
    struct err *err;
};

static void close_folder(DIR **folder)
{
    if (*folder)
        (void)closedir(*folder);
}
#define auto_folder __attribute__((cleanup(close_folder)))

/* A stream over the folder `name` of `at`; NULL with errno. */
static DIR *open_folder(int at, const char *name)
{
    auto_fd int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);

    if (folder)
        (void)TAKE_FD(fd);
    return folder;
}

static const struct dirent *next_entry(DIR *folder)
{
    const struct dirent *entry;

    do
        entry = readdir(folder);
    while (entry && (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")));
    return entry;
}

static int cannot(struct copy *c, enum err_blame blame, const char *what, const char *path)
{
    int code = errno ? -errno : -EIO;

    return err_set(c->err, blame, code, "%s cannot be %s: %s", path, what, strerror(-code));
}

static int take_entry(struct copy *c, const char *path, off_t bytes)
{
    if (!c->bound->entries)
        return err_set(c->err, BLAME_CONFIG, -EFBIG, "%s: too many files to copy", path);
    if (bytes > c->bound->bytes)
        return err_set(c->err, BLAME_CONFIG, -EFBIG, "%s: too many bytes to copy", path);
    c->bound->entries--;
    c->bound->bytes -= bytes;
    return 0;
}

/* A file system that can share the blocks does; a file that grows is copied as long as it was. */
static int copy_bytes(int from, int to, off_t n)
{
    auto_free char *chunk = NULL;

    while (n > 0) {
        ssize_t done = copy_file_range(from, NULL, to, NULL, (size_t)n, 0);

        if (done <= 0)
            break;
        n -= done;
    }
    while (n > 0) {
        size_t want = (size_t)n < CHUNK_BYTES ? (size_t)n : CHUNK_BYTES;
        ssize_t done;
        int rc;

        chunk = chunk ? chunk : mem_grow(NULL, CHUNK_BYTES, 1);
        done = read(from, chunk, want);
        if (done <= 0)
            return done < 0 ? -errno : 0;
        rc = fd_write_all(to, chunk, (size_t)done);
        if (rc)
            return rc;
        n -= done;
    }
    return 0;
}

/* `from` below `at` to the new file `to`; `path` is for words. */
static int copy_file(struct copy *c, int at, const char *from, const char *to, const char *path)
{
    auto_fd int in = openat(at, from, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    auto_fd int out = -1;
    struct stat st;
    int rc;

    if (in < 0 || fstat(in, &st) < 0)
        return cannot(c, BLAME_CONFIG, "read", path);
    if (!S_ISREG(st.st_mode))
        return err_set(c->err, BLAME_CONFIG, -EINVAL, "%s: expected a file", path);
    if (take_entry(c, path, st.st_size))
        return c->err->code;
    out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (out < 0)
        return cannot(c, BLAME_PLATFORM, "made", to);
    rc = copy_bytes(in, out, st.st_size);
    if (!rc && (fchmod(out, st.st_mode & MODE_MASK) < 0 ||
                futimens(out, (struct timespec[]){st.st_atim, st.st_mtim}) < 0))
        rc = -errno;
    return rc ? err_set(c->err, BLAME_PLATFORM, rc, "%s cannot be written: %s", to, strerror(-rc))
              : 0;
}

static int copy_link(struct copy *c, int at, const char *from, const char *to, const char *path)
{
    char target[4096];
    ssize_t n = readlinkat(at, from, target, sizeof(target) - 1);

    if (n < 0)
        return cannot(c, BLAME_CONFIG, "read", path);
    target[n] = '\0';
    if (take_entry(c, path, n))
        return c->err->code;
    return symlink(target, to) < 0 ? cannot(c, BLAME_PLATFORM, "made", to) : 0;
}

static int copy_tree(struct copy *c, DIR *folder, const char *from, const char *to, unsigned depth);

static int copy_folder(struct copy *c, int at, const char *name, const char *to, const char *path,
                       unsigned depth)
{
    auto_folder DIR *folder = open_folder(at, name);
    struct stat st;

    if (!folder || fstat(dirfd(folder), &st) < 0)
        return cannot(c, BLAME_CONFIG, "read", path);
    if (st.st_dev == c->without.st_dev && st.st_ino == c->without.st_ino)
        return 0;
    if (!depth)
        return err_set(c->err, BLAME_CONFIG, -ELOOP, "%s: too deep to copy", path);
    if (take_entry(c, path, 0))
        return c->err->code;
    if (mkdir(to, 0700) < 0)
        return cannot(c, BLAME_PLATFORM, "made", to);
    if (copy_tree(c, folder, path, to, depth - 1))
        return c->err->code;
    return chmod(to, st.st_mode & MODE_MASK) < 0 ? cannot(c, BLAME_PLATFORM, "made", to) : 0;
}

static int copy_entry(struct copy *c, int at, const char *name, const char *from, const char *to,
                      unsigned depth)
{
    struct stat st;

    if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return cannot(c, BLAME_CONFIG, "read", from);
    if (S_ISDIR(st.st_mode))
        return copy_folder(c, at, name, to, from, depth);
    if (S_ISLNK(st.st_mode))
        return copy_link(c, at, name, to, from);
    return S_ISREG(st.st_mode) ? copy_file(c, at, name, to, from) : 0;
}

static int copy_tree(struct copy *c, DIR *folder, const char *from, const char *to, unsigned depth)
{
    const struct dirent *entry;

    while ((entry = next_entry(folder))) {
        auto_free char *source = path_join(from, entry->d_name);
        auto_free char *target = path_join(to, entry->d_name);

        if (copy_entry(c, dirfd(folder), entry->d_name, source, target, depth))
            return c->err->code;
    }
    return 0;
}

int folders_copy(const char *from, const char *to, const char *without, struct folders_bound *bound,
                 struct err *err)
{
    auto_folder DIR *folder = opendir(from);
    struct copy c = {.bound = bound, .err = err};

    if (!folder)
        return cannot(&c, BLAME_CONFIG, "read", from);
    if (without && stat(without, &c.without) < 0)
        return cannot(&c, BLAME_PLATFORM, "read", without);
    return copy_tree(&c, folder, from, to, FOLDERS_DEPTH_MAX);
}

int folders_copy_file(const char *from, const char *to, struct folders_bound *bound,
                      struct err *err)
{
    struct copy c = {.bound = bound, .err = err};

    return copy_file(&c, AT_FDCWD, from, to, from);
}

static int first(int before, int now)
{
    return before ? before : now;
}

/* A job may have left folders that not even their owner may look into. */
static DIR *open_to_empty(int at, const char *name)
{
    DIR *folder = open_folder(at, name);

    if (!folder && errno == EACCES && !fchmodat(at, name, 0700, 0))
        folder = open_folder(at, name);
    return folder;
}

static int remove_folder(int at, const char *name, unsigned depth)
{
    auto_folder DIR *folder = NULL;
    const struct dirent *entry;
    int rc = 0;

    if (!depth)
        return -ELOOP;
    folder = open_to_empty(at, name);
    if (!folder)
        return errno == ENOENT ? 0 : -errno;
    (void)fchmod(dirfd(folder), 0700);
    while ((entry = next_entry(folder))) {
        if (!unlinkat(dirfd(folder), entry->d_name, 0) || errno == ENOENT)
            continue;
        if (errno == EISDIR || errno == EPERM)
            rc = first(rc, remove_folder(dirfd(folder), entry->d_name, depth - 1));
        else
            rc = first(rc, -errno);
    }
    if (unlinkat(at, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
        rc = first(rc, -errno);
    return rc;
}

int folders_remove(const char *path)
{
    return remove_folder(AT_FDCWD, path, FOLDERS_DEPTH_MAX * 2);
}
