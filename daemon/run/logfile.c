/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "run/logfile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/files.h"
#include "base/mem.h"

struct logfile {
    int fd;
    size_t max;
    size_t tail_at; /* where the mark stands once the file has gone round; the tail behind it */
    size_t at;      /* where the next byte goes */
    uint64_t total; /* bytes of the stream */
    bool round;
};

struct logfile *logfile_open(const char *path, size_t max, int *code)
{
    struct logfile *f;
    auto_free char *folder = path_parent(path);
    int rc = folder_make(folder);
    int fd = -1;

    if (!rc) {
        fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0666);
        rc = fd < 0 ? -errno : 0;
    }
    if (rc) {
        *code = rc;
        return NULL;
    }
    f = mem_zero(sizeof(*f));
    f->fd = fd;
    f->max = max > LOGFILE_LEAST ? max : LOGFILE_LEAST;
    f->tail_at = f->max - (f->max / 2 < LOGFILE_TAIL ? f->max / 2 : LOGFILE_TAIL);
    return f;
}

static int write_at(struct logfile *f, size_t at, const char *bytes, size_t n)
{
    if (lseek(f->fd, (off_t)at, SEEK_SET) < 0)
        return -errno;
    return fd_write_all(f->fd, bytes, n);
}

static int write_mark(struct logfile *f)
{
    char mark[LOGFILE_MARK + 1];
    size_t tail = f->max - f->tail_at - LOGFILE_MARK;
    int n = snprintf(mark, sizeof(mark),
                     "\n[serried: %" PRIu64 " bytes left out here, see log.file_max",
                     f->total - f->tail_at - tail);

    memset(mark + n, ' ', LOGFILE_MARK - (size_t)n);
    mark[LOGFILE_MARK - 2] = ']';
    mark[LOGFILE_MARK - 1] = '\n';
    return write_at(f, f->tail_at, mark, LOGFILE_MARK);
}

/* The end of the file is reached: on with the tail's oldest byte. */
static int go_round(struct logfile *f)
{
    f->at = f->tail_at + LOGFILE_MARK;
    if (!f->round) {
        f->round = true;
        return write_mark(f);
    }
    return lseek(f->fd, (off_t)f->at, SEEK_SET) < 0 ? -errno : 0;
}

int logfile_write(struct logfile *f, const char *bytes, size_t n)
{
    while (n) {
        size_t part;
        int rc = f->at == f->max ? go_round(f) : 0;

        part = n < f->max - f->at ? n : f->max - f->at;
        if (!rc)
            rc = fd_write_all(f->fd, bytes, part);
        if (rc)
            return rc;
        f->at += part;
        f->total += part;
        bytes += part;
        n -= part;
    }
    return 0;
}

static int read_all(int fd, char *out, size_t n, size_t at)
{
    while (n) {
        ssize_t got = pread(fd, out, n, (off_t)at);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 ? -errno : -EIO;
        out += got;
        at += (size_t)got;
        n -= (size_t)got;
    }
    return 0;
}

/* Turns the tail so that its oldest byte comes first. */
static int put_in_order(struct logfile *f)
{
    size_t first = f->tail_at + LOGFILE_MARK;
    size_t old = f->max - f->at; /* bytes; the newer ones are before them */
    auto_free char *tail = mem_zero(f->max - first);
    int rc = read_all(f->fd, tail, old, f->at);

    if (!rc)
        rc = read_all(f->fd, tail + old, f->at - first, first);
    if (!rc)
        rc = write_at(f, first, tail, f->max - first);
    return rc ? rc : write_mark(f);
}

int logfile_close(struct logfile *f)
{
    int rc = 0;

    if (!f)
        return 0;
    if (f->round)
        rc = put_in_order(f);
    if (close(f->fd) < 0 && !rc)
        rc = -errno;
    free(f);
    return rc;
}
