/* SPDX-License-Identifier: Apache-2.0
 *
 * Hosts made of namespaces: the caller's side, which talks to the rack's process (rackd). */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/files.h"
#include "base/mem.h"
#include "emulator/namespaces.h"
#include "emulator/rack_ops.h"
#include "emulator/rackd.h"

#define OPEN_LIMIT_MS  90000
#define CLOSE_LIMIT_MS 5000
#define EOF_LIMIT_MS   1000 /* from a daemon's end to that of its output: a stray may hold it */
#define STREAMS        2

struct isolated;

struct stream {
    uv_pipe_t pipe;
    struct isolated *rack;
    size_t host;
    int number;
    bool open;
};

struct host {
    struct stream streams[STREAMS];
    uv_timer_t limit;
    bool ended, told;
    int status;
};

struct isolated {
    struct rack rack;
    uv_loop_t *loop;
    struct rack_calls calls;
    void *data;
    uv_poll_t news;
    int socket, pidfd;
    pid_t pid;
    char *hosts_file;
    struct host *hosts;
    size_t lines_each; /* in the hosts file, of a host */
    size_t *lines;     /* offsets of all */
    bool closing, broken;
    size_t handles;
};

static struct isolated *isolated_of(struct rack *r)
{
    return (struct isolated *)(void *)r;
}

/* ---- the end
 * ----------------------------------------------------------------------------------------- */

static void free_all(struct isolated *s)
{
    free(s->hosts);
    free(s->lines);
    free(s->hosts_file);
    free(s);
}

static void handle_gone(struct isolated *s)
{
    if (--s->handles == 0 && s->closing)
        free_all(s);
}

static void on_stream_closed(uv_handle_t *handle)
{
    handle_gone(((struct stream *)handle->data)->rack);
}

static void on_own_closed(uv_handle_t *handle)
{
    handle_gone(handle->data);
}

/* All that is in its namespaces goes with it. */
static void end_rack(struct isolated *s)
{
    struct pollfd p = {.fd = s->pidfd, .events = POLLIN};

    if (s->pid <= 0)
        return;
    (void)kill(s->pid, SIGKILL);
    if (poll(&p, 1, CLOSE_LIMIT_MS) == 1)
        (void)waitpid(s->pid, NULL, 0);
    (void)close(s->pidfd);
    (void)close(s->socket);
    s->pid = 0;
}

/* ---- output and news
 * ---------------------------------------------------------------------------------- */

static void look_if_ended(struct isolated *s, size_t host, bool late)
{
    struct host *h = &s->hosts[host];

    if (!h->ended || h->told || s->closing || (!late && (h->streams[0].open || h->streams[1].open)))
        return;
    h->told = true;
    (void)uv_timer_stop(&h->limit);
    s->calls.on_exit(s->data, host, h->status);
}

static void on_limit(uv_timer_t *timer)
{
    struct isolated *s = timer->data;

    for (size_t i = 0; i < s->rack.n; i++)
        if (&s->hosts[i].limit == timer)
            look_if_ended(s, i, true);
}

static void on_alloc(uv_handle_t *handle, size_t wanted, uv_buf_t *out)
{
    static char bytes[65536];

    (void)handle;
    (void)wanted;
    *out = uv_buf_init(bytes, sizeof(bytes));
}

static void on_read(uv_stream_t *pipe, ssize_t n, const uv_buf_t *bytes)
{
    struct stream *stream = pipe->data;
    struct isolated *s = stream->rack;

    if (n > 0 && !s->closing)
        s->calls.on_output(s->data, stream->host, stream->number, bytes->base, (size_t)n);
    if (n >= 0 || !stream->open)
        return;
    stream->open = false;
    uv_close((uv_handle_t *)pipe, on_stream_closed);
    look_if_ended(s, stream->host, false);
}

static void take(struct isolated *s, const struct rackd_event *event)
{
    struct host *h;

    if (event->news == RACKD_COMMAND_EXITED)
        s->calls.on_exec_exit(s->data, event->id, event->status);
    if (event->news != RACKD_EXITED || event->host >= s->rack.n)
        return;
    h = &s->hosts[event->host];
    h->ended = true;
    h->status = event->status;
    (void)uv_timer_start(&h->limit, on_limit, EOF_LIMIT_MS, 0);
    look_if_ended(s, event->host, false);
}

static void on_news(uv_poll_t *poll, int status, int events)
{
    struct isolated *s = poll->data;
    struct rackd_event event;
    ssize_t n;

    (void)status;
    (void)events;
    while ((n = recv(s->socket, &event, sizeof(event), MSG_DONTWAIT)) == (ssize_t)sizeof(event)) {
        take(s, &event);
        if (s->closing)
            return;
    }
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    (void)uv_poll_stop(poll);
    s->broken = true;
    s->calls.on_broken(s->data, "the process that owns the emulated hosts has ended");
}

/* ---- orders
 * --------------------------------------------------------------------------------------------- */

static void order(struct isolated *s, const struct rackd_command *command)
{
    (void)send(s->socket, command, sizeof(*command), MSG_NOSIGNAL);
}

static void start(struct rack *r, size_t host)
{
    order(isolated_of(r), &(struct rackd_command){.order = RACKD_START, .host = host});
}

static void send_signal(struct rack *r, size_t host, int number)
{
    order(isolated_of(r),
          &(struct rackd_command){.order = RACKD_SIGNAL, .host = host, .number = number});
}

static void freeze(struct rack *r, size_t host, bool on)
{
    order(isolated_of(r),
          &(struct rackd_command){.order = RACKD_FREEZE, .host = host, .number = on});
}

static void road(struct rack *r, size_t from, size_t to, bool cut, unsigned delay_ms, double loss)
{
    order(isolated_of(r),
          &(struct rackd_command){
              .order = RACKD_ROAD,
              .rule = {.from = from, .to = to, .cut = cut, .delay_ms = delay_ms, .loss = loss}
    });
}

/* In place, by one byte of each line: every host has this very file. */
static void name(struct rack *r, size_t host, bool known)
{
    struct isolated *s = isolated_of(r);
    auto_fd int fd = open(s->hosts_file, O_WRONLY | O_CLOEXEC);

    for (size_t i = 0; i < s->lines_each && fd >= 0; i++) {
        const char first = !known ? '#' : s->lines_each == 2 && i == 0 ? 'f' : '1';

        (void)!pwrite(fd, &first, 1, (off_t)s->lines[host * s->lines_each + i]);
    }
}

static void add_words(struct buf *to, char *const *words)
{
    for (; words && *words; words++)
        buf_add(to, *words, strlen(*words) + 1);
}

static void run_command(struct rack *r, size_t host, char *const *argv, char *const *env,
                        const int fds[3], unsigned id)
{
    struct isolated *s = isolated_of(r);
    struct rackd_command command = {.order = RACKD_EXEC, .host = host, .id = id};
    auto_buf struct buf words = {0};
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(3 * sizeof(int))];
    } rights = {
        .header = {CMSG_LEN(3 * sizeof(int)), SOL_SOCKET, SCM_RIGHTS}
    };
    struct iovec parts[2] = {
        {&command, sizeof(command)},
        {NULL,     0              }
    };
    struct msghdr m = {.msg_iov = parts,
                       .msg_iovlen = 2,
                       .msg_control = &rights,
                       .msg_controllen = sizeof(rights)};

    memcpy(CMSG_DATA(&rights.header), fds, 3 * sizeof(int));
    add_words(&words, argv);
    buf_char(&words, '\0');
    add_words(&words, env);
    parts[1] = (struct iovec){words.data, words.len};
    if (words.len > RACKD_WORDS_MAX || sendmsg(s->socket, &m, MSG_NOSIGNAL) < 0)
        s->calls.on_exec_exit(s->data, id, 127 << 8);
}

static void close_streams(struct isolated *s)
{
    for (size_t i = 0; i < s->rack.n; i++) {
        for (int k = 0; k < STREAMS; k++) {
            if (s->hosts[i].streams[k].open)
                uv_close((uv_handle_t *)&s->hosts[i].streams[k].pipe, on_stream_closed);
            s->hosts[i].streams[k].open = false;
        }
        uv_close((uv_handle_t *)&s->hosts[i].limit, on_own_closed);
    }
}

static void close_rack(struct rack *r)
{
    struct isolated *s = isolated_of(r);

    s->closing = true;
    close_streams(s);
    (void)uv_poll_stop(&s->news);
    uv_close((uv_handle_t *)&s->news, on_own_closed);
    end_rack(s);
    (void)unlink(s->hosts_file);
}

/* ---- opening
 * ---------------------------------------------------------------------------------------------- */

static int write_hosts(struct isolated *s, const struct rack_spec *spec)
{
    auto_buf struct buf text = {0};
    size_t line = 0;

    s->lines_each = spec->ipv6 ? 2 : 1;
    s->lines = mem_zero((s->lines_each * spec->n + 1) * sizeof(*s->lines));
    buf_str(&text, "127.0.0.1 localhost\n::1 localhost\n");
    for (size_t i = 0; i < spec->n; i++) {
        if (spec->ipv6) {
            s->lines[line++] = text.len;
            buf_printf(&text, "fd66::%zx %s\n", i + 1, spec->hosts[i].name);
        }
        s->lines[line++] = text.len;
        buf_printf(&text, "10.66.%zu.%zu %s\n", (i + 1) >> 8, (i + 1) & 255, spec->hosts[i].name);
    }
    return file_write(s->hosts_file, buf_text(&text), text.len);
}

static void open_streams(struct isolated *s, const int (*reads)[STREAMS])
{
    for (size_t i = 0; i < s->rack.n; i++) {
        for (int k = 0; k < STREAMS; k++) {
            struct stream *stream = &s->hosts[i].streams[k];

            *stream = (struct stream){.rack = s, .host = i, .number = k + 1, .open = true};
            (void)uv_pipe_init(s->loop, &stream->pipe, 0);
            stream->pipe.data = stream;
            (void)uv_pipe_open(&stream->pipe, reads[i][k]);
            (void)uv_read_start((uv_stream_t *)&stream->pipe, on_alloc, on_read);
            s->handles++;
        }
        (void)uv_timer_init(s->loop, &s->hosts[i].limit);
        s->hosts[i].limit.data = s;
        s->handles++;
    }
    (void)uv_poll_init(s->loop, &s->news, s->socket);
    s->news.data = s;
    (void)uv_poll_start(&s->news, UV_READABLE, on_news);
    s->handles++;
}

static void close_pairs(int (*fds)[STREAMS], size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < STREAMS; k++)
            if (fds[i][k] >= 0)
                (void)close(fds[i][k]);
}

static int make_pipes(int (*reads)[STREAMS], int (*writes)[STREAMS], size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < STREAMS; k++)
            reads[i][k] = writes[i][k] = -1;
    for (size_t i = 0; i < n; i++) {
        for (int k = 0; k < STREAMS; k++) {
            int ends[2];

            if (pipe2(ends, O_CLOEXEC) < 0)
                return -errno;
            reads[i][k] = ends[0];
            writes[i][k] = ends[1];
        }
    }
    return 0;
}

static int await_rack(struct isolated *s, struct err *err)
{
    struct pollfd p = {.fd = s->socket, .events = POLLIN};
    struct rackd_event event;

    if (poll(&p, 1, OPEN_LIMIT_MS) != 1)
        return err_set(err, BLAME_PLATFORM, -ETIMEDOUT, "the emulated hosts do not come up");
    if (recv(s->socket, &event, sizeof(event), 0) != (ssize_t)sizeof(event))
        return err_set(err, BLAME_PLATFORM, -ECHILD, "the emulated hosts cannot be made");
    if (event.news == RACKD_UP)
        return 0;
    *err = event.err;
    return err->code;
}

/* The rack's process, with its uids mapped and its hosts up. */
static int fork_rack(struct isolated *s, const struct rack_spec *spec, int (*writes)[STREAMS],
                     int program, struct err *err)
{
    uint64_t flags = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWIPC;
    int ends[2], go[2];
    struct rackd_spec rackd = {.rack = spec,
                               .hosts_file = s->hosts_file,
                               .outputs = (const int(*)[STREAMS])writes,
                               .program = program};

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0 || pipe2(go, O_CLOEXEC) < 0)
        return err_set(err, BLAME_PLATFORM, -errno, "a socket pair: %s", strerror(errno));
    rackd.socket = ends[1];
    rackd.go = go[0];
    s->pid = namespaces_fork(spec->mode == RACK_ROOT ? flags : flags | CLONE_NEWUSER, &s->pidfd);
    if (s->pid == 0)
        rackd_run(&rackd);
    (void)close(ends[1]);
    (void)close(go[0]);
    s->socket = ends[0];
    if (s->pid < 0) {
        (void)err_set(err, BLAME_PLATFORM, s->pid, "namespaces: %s", namespaces_why(s->pid));
        (void)close(ends[0]);
    } else if (namespaces_map(s->pid, spec->mode, err) == 0) {
        (void)!write(go[1], "g", 1);
        (void)await_rack(s, err);
    }
    (void)close(go[1]);
    return err->code;
}

static int open_hosts(struct isolated *s, const struct rack_spec *spec, struct err *err)
{
    auto_free int(*reads)[STREAMS] = mem_zero((spec->n + 1) * sizeof(*reads));
    auto_free int(*writes)[STREAMS] = mem_zero((spec->n + 1) * sizeof(*writes));
    auto_fd int program = open(spec->argv[0], O_RDONLY | O_CLOEXEC);
    int rc = write_hosts(s, spec);

    if (program < 0)
        return err_set(err, BLAME_USER, -errno, "%s: %s", spec->argv[0], strerror(errno));
    if (!rc)
        rc = make_pipes(reads, writes, spec->n);
    if (rc)
        (void)err_set(err, BLAME_PLATFORM, rc, "%s: %s", s->hosts_file, strerror(-rc));
    else
        (void)fork_rack(s, spec, writes, program, err);
    close_pairs(writes, spec->n);
    if (err->code)
        close_pairs(reads, spec->n);
    else
        open_streams(s, (const int(*)[STREAMS])reads);
    return err->code;
}

struct rack *isolated_open(uv_loop_t *loop, const struct rack_spec *spec,
                           const struct rack_calls *calls, void *data, struct err *err)
{
    static const struct rack_ops ops = {start, send_signal, freeze,    name,
                                        road,  run_command, close_rack};
    struct isolated *s = mem_zero(sizeof(*s));

    *err = (struct err)ERR_INIT;
    s->rack = (struct rack){.ops = &ops, .mode = spec->mode, .n = spec->n};
    s->loop = loop;
    s->calls = *calls;
    s->data = data;
    s->hosts_file = path_join(spec->state, "hosts");
    s->hosts = mem_zero((spec->n + 1) * sizeof(*s->hosts));
    if (open_hosts(s, spec, err) == 0)
        return &s->rack;
    end_rack(s);
    (void)unlink(s->hosts_file);
    free_all(s);
    return NULL;
}
