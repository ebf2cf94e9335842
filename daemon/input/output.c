/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "input/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/files.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/strv.h"
#include "base/utf8.h"
#include "core/report.h"

#define EARLIER_MAX 999 /* earlier runs kept */
#define NAMES_MAX   10000
#define EARLIER     "earlier-"

struct output {
    char *top;     /* <base>/output */
    char *failure; /* <base>/output/failure */
    char *success;
    char *reserve; /* its blocks are taken at the start and become the failure file */
    int fd;        /* of the reserve; -1: there is none */
    char *folder;  /* .../serried/HOST; NULL: could not be made */
    int lock;      /* of that folder, for as long as we run; -1: there is none */
    bool taken;    /* another daemon has the lock */
    bool warned;
};

/* One warning is enough: what follows from a bad disk is no news. */
static void warn(struct output *o, const char *path, int rc, const char *without)
{
    if (!o->warned)
        log_warning("%s: %s; going on without %s", path, strerror(-rc), without);
    o->warned = true;
}

/* ---- folders and earlier runs -------------------------------------------------------------- */

/* A host's name as the name of one folder. */
static char *folder_name(const char *host)
{
    char *name = mem_dup(*host ? host : "_");

    for (char *p = name; *p; p++)
        if (*p == '/' || (unsigned char)*p < 0x20)
            *p = '_';
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        name[0] = '_';
    return name;
}

static bool is_earlier(const char *name)
{
    return strncmp(name, EARLIER, strlen(EARLIER)) == 0;
}

/* Makes the next free earlier-N; NULL if that cannot be. */
static char *make_earlier(const struct output *o)
{
    for (unsigned i = 1; i <= EARLIER_MAX; i++) {
        auto_free char *path = mem_printf("%s/" EARLIER "%u", o->folder, i);

        if (mkdir(path, 0777) == 0)
            return TAKE(path);
        if (errno != EEXIST)
            break;
    }
    return NULL;
}

/* A result that cannot be kept must go nevertheless: it would pass for one of this run. */
static void move_result(const char *path, const char *earlier)
{
    auto_free char *to = earlier ? path_join(earlier, strrchr(path, '/') + 1) : NULL;

    if (to && rename(path, to) == 0)
        return;
    if (unlink(path) == 0)
        log_warning("%s: of an earlier run, could not be kept and is removed", path);
    else if (errno != ENOENT)
        log_warning("%s: of an earlier run, cannot be removed: %s", path, strerror(errno));
}

static void move_earlier_run(struct output *o)
{
    auto_strv struct strv names = {0};
    auto_free char *earlier = NULL;
    struct stat st;
    bool any = lstat(o->failure, &st) == 0 || lstat(o->success, &st) == 0;

    if (o->folder)
        (void)folder_list(o->folder, NAMES_MAX, &names);
    for (size_t i = 0; i < names.n && !any; i++)
        any = !is_earlier(names.v[i]);
    if (!any)
        return;
    if (o->folder)
        earlier = make_earlier(o);
    for (size_t i = 0; i < names.n && earlier; i++) {
        auto_free char *from = path_join(o->folder, names.v[i]);
        auto_free char *to = path_join(earlier, names.v[i]);

        if (!is_earlier(names.v[i]) && rename(from, to) < 0)
            warn(o, from, -errno, "moving what an earlier run left");
    }
    move_result(o->failure, earlier);
    move_result(o->success, earlier);
}

static void make_folders(struct output *o, const char *base, const char *host)
{
    auto_free char *name = folder_name(host);
    auto_free char *folder = mem_printf("%s/output/data/serried/%s", base, name);
    int rc = folder_make(folder);

    if (rc)
        warn(o, folder, rc, "files of our own");
    else
        o->folder = TAKE(folder);
}

/* A file system that knows no locks has none. */
static void take_lock(struct output *o)
{
    if (!o->folder)
        return;
    o->lock = open(o->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    o->taken = o->lock >= 0 && flock(o->lock, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK;
}

/* The program may have removed them; what cannot be made shows when it is written to. */
static void make_folders_again(const struct output *o)
{
    (void)folder_make(o->top);
    if (o->folder)
        (void)folder_make(o->folder);
}

static void make_below(struct output *o, const char *name)
{
    auto_free char *path = o->folder ? path_join(o->folder, name) : NULL;
    int rc = path ? folder_make(path) : 0;

    if (rc)
        warn(o, path, rc, "the files in it");
}

/* ---- the reserve --------------------------------------------------------------------------- */

/* Takes the blocks of a whole failure file. 0 or a negative errno. */
static int take_blocks(int fd)
{
    static const char zeros[REPORT_MAX];
    int rc = posix_fallocate(fd, 0, REPORT_MAX);

    return rc == EOPNOTSUPP || rc == EINVAL ? fd_write_all(fd, zeros, sizeof(zeros)) : -rc;
}

static void open_reserve(struct output *o)
{
    int rc;

    (void)unlink(o->reserve);
    o->fd = open(o->reserve, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    rc = o->fd < 0 ? -errno : take_blocks(o->fd);
    if (rc)
        warn(o, o->failure, rc, "space reserved for it");
}

static void drop_reserve(struct output *o)
{
    if (o->fd < 0)
        return;
    (void)close(TAKE_FD(o->fd));
    (void)unlink(o->reserve);
}

/* Renames, but never over a file that is there. 0 or a negative errno. */
static int rename_new(const char *from, const char *to)
{
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return -errno;
    if (link(from, to) < 0) /* a file system that has no such rename */
        return -errno;
    (void)unlink(from);
    return 0;
}

/* Into the blocks that are there already. */
static int fill_reserve(const struct output *o, const char *text, size_t n)
{
    int rc;

    if (lseek(o->fd, 0, SEEK_SET) < 0)
        return -errno;
    rc = fd_write_all(o->fd, text, n);
    if (!rc && ftruncate(o->fd, (off_t)n) < 0)
        rc = -errno;
    return rc;
}

static int write_new(const char *path, const char *text, size_t n)
{
    auto_fd int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);

    return fd < 0 ? -errno : fd_write_all(fd, text, n);
}

/* ---- the interface ------------------------------------------------------------------------- */

struct output *output_new(const char *base, const char *host)
{
    struct output *o = mem_zero(sizeof(*o));

    o->fd = o->lock = -1;
    o->top = path_join(base, "output");
    o->failure = path_join(o->top, "failure");
    o->success = path_join(o->top, "success");
    o->reserve = path_join(o->top, ".serried-reserve");
    make_folders(o, base, host);
    take_lock(o);
    if (o->taken)
        return o;
    move_earlier_run(o);
    make_below(o, "logs");
    make_below(o, "errors");
    open_reserve(o);
    return o;
}

void output_free(struct output *o)
{
    if (!o)
        return;
    drop_reserve(o);
    if (o->lock >= 0)
        (void)close(TAKE_FD(o->lock));
    free(o->top);
    free(o->failure);
    free(o->success);
    free(o->reserve);
    free(o->folder);
    free(o);
}

bool output_is_taken(const struct output *o)
{
    return o->taken;
}

const char *output_folder(const struct output *o)
{
    return o->folder;
}

char *output_log_path(const struct output *o, unsigned rank, const char *suffix)
{
    return o->folder ? mem_printf("%s/logs/%u.%s", o->folder, rank, suffix) : NULL;
}

static void write_json(struct output *o, const cJSON *json)
{
    auto_free char *path = o->folder ? path_join(o->folder, "failure.json") : NULL;
    auto_free char *text = json ? cJSON_Print(json) : NULL;
    int rc = path && text ? file_replace(path, text, strlen(text)) : 0;

    if (rc)
        warn(o, path, rc, "it");
}

/* Our account where the program has written a failure file of its own. */
static int write_aside(struct output *o, const char *text, size_t n, bool in_reserve)
{
    auto_free char *path = o->folder ? path_join(o->folder, "failure.txt") : NULL;

    if (!path)
        return -ENOENT;
    if (in_reserve && rename_new(o->reserve, path) == 0)
        return 0;
    return write_new(path, text, n); /* it may be on another file system */
}

int output_failure(struct output *o, const char *text, const cJSON *json)
{
    size_t n = utf8_clip(text, strlen(text), REPORT_MAX);
    bool in_reserve = o->fd >= 0 && fill_reserve(o, text, n) == 0;
    int rc;

    if (o->taken)
        return 0;
    make_folders_again(o);
    (void)unlink(o->success);
    if (!in_reserve)
        drop_reserve(o); /* what it holds may be what is missing */
    rc = in_reserve ? rename_new(o->reserve, o->failure) : write_new(o->failure, text, n);
    if (in_reserve && rc && rc != -EEXIST) { /* the program removed the reserve */
        in_reserve = false;
        rc = write_new(o->failure, text, n);
    }
    if (rc == -EEXIST)
        rc = write_aside(o, text, n, in_reserve);
    drop_reserve(o);
    write_json(o, json);
    return rc;
}

int output_success(struct output *o)
{
    auto_fd int fd = -1;

    if (o->taken)
        return 0;
    make_folders_again(o);
    drop_reserve(o);
    fd = open(o->success, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    return fd < 0 ? -errno : 0;
}

void output_stopped(struct output *o, const cJSON *json)
{
    if (o->taken)
        return;
    make_folders_again(o);
    drop_reserve(o);
    write_json(o, json);
}

int output_failure_early(const char *base, const char *text)
{
    auto_free char *folder = path_join(base, "output");
    auto_free char *failure = path_join(folder, "failure");
    auto_free char *success = path_join(folder, "success");
    int rc;

    if (!file_is_folder(base)) /* a mistyped name makes no folders */
        return -ENOENT;
    rc = folder_make(folder);
    if (rc)
        return rc;
    (void)unlink(success);
    rc = file_replace(failure, text, strlen(text));
    return rc ? file_write(failure, text, strlen(text)) : 0;
}
