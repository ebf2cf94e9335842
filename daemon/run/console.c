/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "run/console.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"

#define PART     ((size_t)64 << 10) /* bytes that are written without waiting for more */
#define KEEP_CAP ((size_t)1 << 20)  /* a larger buffer is freed when it is empty */

struct console {
    int fd; /* our own; -1: nobody reads */
    ssize_t (*put)(int fd, const char *bytes, size_t n);
    /* Tells when `fd` takes more; -1: it is a file, which always does. One epoll inside another,
     * because uv_poll_init() would set O_NONBLOCK on a descriptor that others share. */
    int writable;
    char *data;
    size_t from, to, cap; /* what waits: data[from..to) */
    bool blocked;
    uint64_t progress_ms;
    size_t lost;
    void (*on_room)(void *data);
    void *user;
    uv_poll_t poll;
    uv_prepare_t prepare;
    unsigned handles; /* open ones */
};

static ssize_t put_write(int fd, const char *bytes, size_t n)
{
    return write(fd, bytes, n);
}

static ssize_t put_send(int fd, const char *bytes, size_t n)
{
    return send(fd, bytes, n, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* For a descriptor that may block and is not ours to change: a pipe that says it is writable takes
 * PIPE_BUF bytes. */
static ssize_t put_guarded(int fd, const char *bytes, size_t n)
{
    struct pollfd look = {.fd = fd, .events = POLLOUT};

    if (poll(&look, 1, 0) == 1)
        return write(fd, bytes, n < PIPE_BUF ? n : PIPE_BUF);
    errno = EAGAIN;
    return -1;
}

static void open_own(struct console *c, int fd)
{
    char path[32];
    struct stat st = {.st_mode = 0};

    c->put = put_write;
    if (fstat(fd, &st) < 0)
        return;
    if (S_ISFIFO(st.st_mode) || isatty(fd)) {
        (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        c->fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
        if (c->fd >= 0)
            return;
        c->put = put_guarded;
    } else if (S_ISSOCK(st.st_mode)) {
        c->put = put_send;
    }
    c->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
}

/* An epoll that is readable when `fd` is writable; -1 where epoll knows no such thing. */
static int watch(int fd)
{
    struct epoll_event want = {.events = EPOLLOUT};
    int ep = epoll_create1(EPOLL_CLOEXEC);

    if (ep >= 0 && epoll_ctl(ep, EPOLL_CTL_ADD, fd, &want) < 0) {
        (void)close(ep);
        return -1;
    }
    return ep;
}

static void on_prepare(uv_prepare_t *handle)
{
    console_flush(handle->data);
}

struct console *console_open(uv_loop_t *loop, int fd, void (*on_room)(void *data), void *data)
{
    struct console *c = mem_zero(sizeof(*c));

    c->fd = c->writable = -1;
    c->on_room = on_room;
    c->user = data;
    c->prepare.data = c->poll.data = c;
    open_own(c, fd);
    if (c->fd >= 0)
        c->writable = watch(c->fd);
    (void)uv_prepare_init(loop, &c->prepare);
    c->handles = 1;
    if (c->writable >= 0 && uv_poll_init(loop, &c->poll, c->writable) == 0)
        c->handles = 2;
    return c;
}

/* At least `n` bytes behind `to`. */
static void make_room(struct console *c, size_t n)
{
    size_t pending = c->to - c->from;
    size_t cap = c->cap ? c->cap : 2 * PART;

    if (n <= c->cap - c->to)
        return;
    if (c->from) {
        memmove(c->data, c->data + c->from, pending);
        c->from = 0;
        c->to = pending;
    }
    while (cap - pending < n)
        cap *= 2;
    if (cap != c->cap)
        c->data = mem_grow(c->data, cap, 1);
    c->cap = cap;
}

char *console_room(struct console *c, size_t n)
{
    make_room(c, n);
    return c->data + c->to;
}

void console_used(struct console *c, size_t n)
{
    if (c->fd < 0 || c->to - c->from + n > CONSOLE_MAX) {
        c->lost += n;
        return;
    }
    c->to += n;
    if (c->blocked)
        return;
    if (c->to - c->from >= PART)
        console_flush(c);
    else if (n && !uv_is_active((uv_handle_t *)&c->prepare))
        (void)uv_prepare_start(&c->prepare, on_prepare);
}

void console_write(struct console *c, const void *bytes, size_t n)
{
    if (!n)
        return;
    memcpy(console_room(c, n), bytes, n);
    console_used(c, n);
}

static void unblock(struct console *c)
{
    if (c->blocked)
        (void)uv_poll_stop(&c->poll);
    c->blocked = false;
}

static void empty(struct console *c)
{
    c->from = c->to = 0;
    if (c->cap > KEEP_CAP) {
        free(c->data);
        c->data = NULL;
        c->cap = 0;
    }
    unblock(c);
}

/* Nobody reads any more: all from here on is swallowed. */
static void die(struct console *c)
{
    (void)close(c->fd);
    c->fd = -1;
    c->lost += c->to - c->from;
    empty(c);
}

static void on_writable(uv_poll_t *handle, int status, int events)
{
    (void)status;
    (void)events;
    console_flush(handle->data);
}

static void block(struct console *c)
{
    if (!c->blocked)
        (void)uv_poll_start(&c->poll, UV_READABLE, on_writable);
    c->blocked = true;
}

void console_flush(struct console *c)
{
    bool was_blocked = c->blocked;

    (void)uv_prepare_stop(&c->prepare);
    while (c->from < c->to) {
        ssize_t n = c->put(c->fd, c->data + c->from, c->to - c->from);

        if (n > 0) {
            c->from += (size_t)n;
            c->progress_ms = clock_ms();
        } else if (n < 0 && errno == EAGAIN && c->handles == 2) {
            block(c);
            break;
        } else if (n == 0 || errno != EINTR) {
            die(c);
        }
    }
    if (c->from == c->to)
        empty(c);
    if (was_blocked && c->on_room && c->to - c->from <= CONSOLE_FULL / 2)
        c->on_room(c->user);
}

bool console_is_full(const struct console *c)
{
    return c->to - c->from >= CONSOLE_FULL;
}

size_t console_pending(const struct console *c)
{
    return c->to - c->from;
}

uint64_t console_progress_ms(const struct console *c)
{
    return c->progress_ms;
}

void console_give_up(struct console *c)
{
    c->lost += c->to - c->from;
    empty(c);
}

size_t console_lost(const struct console *c)
{
    return c->lost;
}

static void on_closed(uv_handle_t *handle)
{
    struct console *c = handle->data;

    if (--c->handles)
        return;
    free(c->data);
    free(c);
}

void console_close(struct console *c)
{
    if (!c)
        return;
    c->on_room = NULL;
    console_flush(c);
    if (c->handles == 2)
        uv_close((uv_handle_t *)&c->poll, on_closed);
    uv_close((uv_handle_t *)&c->prepare, on_closed);
    if (c->writable >= 0)
        (void)close(c->writable);
    if (c->fd >= 0)
        (void)close(c->fd);
    c->writable = c->fd = -1;
}
