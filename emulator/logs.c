/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "emulator/logs.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/strv.h"

#define STREAMS 2

struct logs {
    const struct strv *names;
    int fds[STREAMS];
    bool gone[STREAMS];
    struct buf out;   /* what one call has to say, written at once */
    struct buf *rest; /* per host and stream: a line that has not ended */
};

struct logs *logs_open(const struct strv *names, const int fds[STREAMS])
{
    struct logs *l = mem_zero(sizeof(*l));

    l->names = names;
    memcpy(l->fds, fds, sizeof(l->fds));
    l->rest = mem_zero(names->n * STREAMS * sizeof(*l->rest));
    return l;
}

static size_t index_of(int stream)
{
    return stream == STDERR_FILENO ? 1 : 0;
}

/* Whoever has started us may have left the descriptor in a mode that does not block. */
static bool write_all(int fd, const char *bytes, size_t n)
{
    while (n) {
        ssize_t done = write(fd, bytes, n);

        if (done < 0 && errno == EAGAIN)
            (void)poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, -1);
        else if (done < 0 && errno != EINTR)
            return false;
        if (done > 0) {
            bytes += done;
            n -= (size_t)done;
        }
    }
    return true;
}

static void flush(struct logs *l, size_t stream)
{
    if (!l->gone[stream] && l->out.len)
        l->gone[stream] = !write_all(l->fds[stream], l->out.data, l->out.len);
    buf_clear(&l->out);
}

static bool is_labelled(const char *name, const char *line, size_t n)
{
    size_t len = strlen(name);

    return n > len + 1 && line[0] == '[' && !memcmp(line + 1, name, len) &&
           (line[len + 1] == ':' || line[len + 1] == ']');
}

/* `line` has no line end. */
static void add_line(struct logs *l, size_t host, const char *line, size_t n)
{
    const char *name = l->names->v[host];

    if (!is_labelled(name, line, n))
        buf_printf(&l->out, "[%s] ", name);
    buf_add(&l->out, line, n);
    buf_char(&l->out, '\n');
}

static void end_line(struct logs *l, size_t host, struct buf *rest)
{
    if (rest->len)
        add_line(l, host, rest->data, rest->len);
    buf_clear(rest);
}

/* Takes bytes up to the end of the line or of the room that is left. How many. */
static size_t take(struct logs *l, size_t host, struct buf *rest, const char *bytes, size_t n)
{
    size_t room = LOGS_LINE_MAX - rest->len;
    size_t look = n < room ? n : room;
    const char *end = memchr(bytes, '\n', look);

    if (!room) {
        end_line(l, host, rest);
        return *bytes == '\n';
    }
    if (end && !rest->len) { /* the usual case needs no copy */
        add_line(l, host, bytes, (size_t)(end - bytes));
        return (size_t)(end - bytes) + 1;
    }
    buf_add(rest, bytes, end ? (size_t)(end - bytes) : look);
    if (end)
        end_line(l, host, rest);
    return end ? (size_t)(end - bytes) + 1 : look;
}

void logs_feed(struct logs *l, size_t host, int stream, const char *bytes, size_t n)
{
    size_t index = index_of(stream);
    struct buf *rest = &l->rest[host * STREAMS + index];

    while (n) {
        size_t used = take(l, host, rest, bytes, n);

        bytes += used;
        n -= used;
    }
    flush(l, index);
}

void logs_end(struct logs *l, size_t host)
{
    for (size_t i = 0; i < STREAMS; i++) {
        end_line(l, host, &l->rest[host * STREAMS + i]);
        flush(l, i);
    }
}

void logs_close(struct logs *l)
{
    if (!l)
        return;
    for (size_t i = 0; i < l->names->n * STREAMS; i++)
        buf_done(&l->rest[i]);
    free(l->rest);
    buf_done(&l->out);
    free(l);
}
