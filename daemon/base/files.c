/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "base/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/strv.h"

static int read_fault(struct err *err, const char *path, int code)
{
    return err_set(err, BLAME_CONFIG, code, "%s: %s", path,
                   code == -ENOENT ? "not there" : strerror(-code));
}

char *file_read(const char *path, size_t max, size_t *len, struct err *err)
{
    auto_buf struct buf text = {.max = max + 1};
    auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    char chunk[16384];
    struct stat st;
    ssize_t n;

    if (fd < 0 || fstat(fd, &st) < 0)
        return (void)read_fault(err, path, -errno), NULL;
    if (S_ISDIR(st.st_mode))
        return (void)err_set(err, BLAME_CONFIG, -EISDIR, "%s: expected a file, found a folder",
                             path),
               NULL;
    if (!S_ISREG(st.st_mode))
        return (void)err_set(err, BLAME_CONFIG, -EINVAL, "%s: expected a regular file", path), NULL;
    while ((n = read(fd, chunk, sizeof(chunk))) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return (void)read_fault(err, path, -errno), NULL;
        buf_add(&text, chunk, (size_t)n);
        if (text.over || text.len > max)
            return (void)err_set(err, BLAME_CONFIG, -EFBIG, "%s: longer than %zu bytes", path, max),
                   NULL;
    }
    if (len)
        *len = text.len;
    return buf_take(&text);
}

int fd_write_all(int fd, const void *data, size_t n)
{
    const char *p = data;

    while (n) {
        ssize_t done = write(fd, p, n);

        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return -errno;
        p += done;
        n -= (size_t)done;
    }
    return 0;
}

static int write_with(mode_t mode, const char *path, const void *data, size_t n)
{
    auto_fd int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
    int rc;

    if (fd < 0)
        return -errno;
    rc = fd_write_all(fd, data, n);
    if (close(TAKE_FD(fd)) < 0 && !rc)
        rc = -errno;
    return rc;
}

int file_write(const char *path, const void *data, size_t n)
{
    return write_with(0666, path, data, n);
}

int file_write_private(const char *path, const void *data, size_t n)
{
    return write_with(0600, path, data, n);
}

int file_replace(const char *path, const void *data, size_t n)
{
    auto_free char *tmp = mem_printf("%s.tmp", path);
    int rc = file_write(tmp, data, n);

    if (!rc && rename(tmp, path) < 0)
        rc = -errno;
    if (rc)
        (void)unlink(tmp);
    return rc;
}

bool file_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

bool file_is_folder(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

int folder_make(const char *path)
{
    auto_free char *part = mem_dup(path);

    if (file_is_folder(path))
        return 0;
    for (char *p = part + 1; *part; p++) {
        char c = *p;

        if (c != '/' && c != '\0')
            continue;
        *p = '\0';
        if (mkdir(part, 0777) < 0 && errno != EEXIST)
            return -errno;
        *p = c;
        if (!c)
            break;
    }
    return file_is_folder(path) ? 0 : -ENOTDIR;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int folder_list(const char *path, size_t max, struct strv *names)
{
    DIR *dir = opendir(path);
    struct dirent *entry;

    if (!dir)
        return -errno;
    while (names->n < max && (entry = readdir(dir)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            strv_add(names, entry->d_name);
    (void)closedir(dir);
    if (names->n)
        qsort(names->v, names->n, sizeof(*names->v), by_name);
    return 0;
}

char *path_parent(const char *path)
{
    const char *slash = strrchr(path, '/');

    if (!slash)
        return mem_dup(".");
    return slash > path ? mem_dup_n(path, (size_t)(slash - path)) : mem_dup("/");
}

char *path_join(const char *dir, const char *name)
{
    size_t n = strlen(dir);

    return mem_printf("%s%s%s", dir, n && dir[n - 1] == '/' ? "" : "/", name);
}

char *path_normal(const char *path)
{
    char *out = mem_zero(strlen(path) + 2);
    size_t len = 0;

    for (size_t n; *path; path += n) {
        path += strspn(path, "/");
        n = strcspn(path, "/");
        if (n == 2 && strncmp(path, "..", n) == 0) {
            while (len && out[--len] != '/')
                ;
        } else if (n && !(n == 1 && *path == '.')) {
            out[len++] = '/';
            memcpy(out + len, path, n);
            len += n;
        }
    }
    if (!len)
        out[len++] = '/';
    out[len] = '\0';
    return out;
}

static bool is_program(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

char *path_which(const char *name, const char *path_variable)
{
    if (strchr(name, '/'))
        return is_program(name) ? mem_dup(name) : NULL;
    for (const char *p = path_variable; p && *name;
         p = strchr(p, ':') ? strchr(p, ':') + 1 : NULL) {
        auto_free char *dir = mem_dup_n(p, strcspn(p, ":"));
        auto_free char *path = path_join(*dir ? dir : ".", name);

        if (is_program(path))
            return TAKE(path);
    }
    return NULL;
}
