/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "emulator/control.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/strv.h"
#include "emulator/fault.h"
#include "emulator/rack.h"
#include "emulator/state.h"

#define SOCKET_NAME "control.sock"
#define REQUEST_MAX ((size_t)64 << 10)
#define ANSWER_MAX  1024
#define STREAMS     3
#define SENT_MAX    253 /* descriptors in one message, as the kernel has it */
#define CLIENTS_MAX 64
#define BACKLOG     16
#define DONE        "done"
#define EXITED      "exited "
#define LIMIT_MS    10000 /* for a request to come, and for an answer to a fault */
#define USAGE       64

struct client {
    uv_poll_t poll;
    struct control *control;
    struct client *next;
    int fd;
    uint64_t since_ms;
    unsigned id; /* of the command that runs for it; 0: none */
};

struct control {
    uv_poll_t poll;
    uv_timer_t limit; /* of the clients that have asked nothing */
    int fd;
    char *path;
    struct rack *rack;
    void (*on_fault)(void *data, const struct fault *fault);
    void *data;
    struct strv names;
    struct client *clients;
    size_t n;
    unsigned last_id;
};

/* A path of any length: the socket's folder is named by a descriptor. */
static int address_of(int folder, struct sockaddr_un *out)
{
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    return snprintf(out->sun_path, sizeof(out->sun_path), "/proc/self/fd/%d/%s", folder,
                    SOCKET_NAME);
}

/* ---- the server: one client ---------------------------------------------------------------- */

static void on_client_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void drop(struct client *c)
{
    struct client **at = &c->control->clients;

    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    c->control->n--;
    (void)uv_poll_stop(&c->poll);
    (void)close(c->fd);
    uv_close((uv_handle_t *)&c->poll, on_client_closed);
}

static void answer(struct client *c, const char *text)
{
    (void)send(c->fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT);
    drop(c);
}

static void refuse(struct client *c, const char *text)
{
    auto_free char *line = mem_printf("refused: %s", text);

    answer(c, line);
}

/* By its name, or its number from 1 on. */
static bool find_host(const struct control *control, const char *name, size_t *out)
{
    long at = strv_find(&control->names, name);

    if (at < 0 && num_integer(name, 1, (long)control->names.n, &at))
        at--;
    if (at < 0)
        return false;
    *out = (size_t)at;
    return true;
}

static void run_command(struct client *c, const struct strv *words, const int fds[STREAMS])
{
    static char *const env[] = {"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                                "HOME=/root", "LANG=C.UTF-8", NULL};
    struct control *control = c->control;
    auto_free char *known = strv_join(&control->names, ", ");
    auto_free char *text = NULL;
    size_t host;

    if (words->n < 3 || fds[STREAMS - 1] < 0) {
        refuse(c, "a host, a command and three streams belong together");
    } else if (!find_host(control, words->v[1], &host)) {
        text = mem_printf("there is no host %.100s, but %.600s", words->v[1], known);
        refuse(c, text);
    } else {
        c->id = ++control->last_id;
        rack_exec(control->rack, host, strv_list(words) + 2, env, fds, c->id);
    }
}

static void make_trouble(struct client *c, const struct strv *words)
{
    struct err err = ERR_INIT;
    struct fault fault;

    if (words->n != 2) {
        refuse(c, "expected one fault");
    } else if (fault_parse(words->v[1], &c->control->names, &fault, &err) < 0) {
        refuse(c, err.text);
    } else if (!fault_is_live(&fault) || fault.at_s > 0) {
        refuse(c, "that fault can only be asked for at the start");
    } else {
        c->control->on_fault(c->control->data, &fault);
        answer(c, DONE);
    }
}

/* The three streams; whatever else was sent is closed. */
static void take_fds(struct msghdr *message, int fds[STREAMS])
{
    int n = 0, fd;

    for (int i = 0; i < STREAMS; i++)
        fds[i] = -1;
    for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part; part = CMSG_NXTHDR(message, part)) {
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
            continue;
        for (size_t at = 0; CMSG_LEN(at + sizeof(fd)) <= part->cmsg_len; at += sizeof(fd)) {
            memcpy(&fd, CMSG_DATA(part) + at, sizeof(fd));
            if (n < STREAMS)
                fds[n++] = fd;
            else
                (void)close(fd);
        }
    }
}

/* NUL-ended words, one after the other. */
static void split(const char *bytes, size_t n, struct strv *words)
{
    for (size_t at = 0; at < n; at += strlen(bytes + at) + 1)
        strv_add(words, bytes + at);
}

static void on_request(uv_poll_t *poll, int status, int events)
{
    static char bytes[REQUEST_MAX + 1];
    struct client *c = poll->data;
    char space[CMSG_SPACE(sizeof(int) * SENT_MAX)];
    struct iovec part = {bytes, REQUEST_MAX};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof(space)};
    auto_strv struct strv words = {0};
    int fds[STREAMS];
    ssize_t n = recvmsg(c->fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

    (void)events;
    if (n < 0 && errno == EAGAIN && status >= 0)
        return;
    if (n <= 0) { /* gone; its command goes on */
        drop(c);
        return;
    }
    take_fds(&message, fds);
    bytes[n] = '\0';
    split(bytes, (size_t)n, &words);
    if (c->id)
        refuse(c, "one request a connection");
    else if (message.msg_flags & MSG_TRUNC)
        refuse(c, "a request is longer than 65536 bytes");
    else if (words.n && strcmp(words.v[0], "exec") == 0)
        run_command(c, &words, fds);
    else if (words.n && strcmp(words.v[0], "fault") == 0)
        make_trouble(c, &words);
    else
        refuse(c, "unknown request");
    for (int i = 0; i < STREAMS; i++)
        if (fds[i] >= 0)
            (void)close(fds[i]);
}

/* ---- the server ---------------------------------------------------------------------------- */

static bool is_ours(int fd)
{
    struct ucred who;
    socklen_t size = sizeof(who);

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 &&
           (who.uid == geteuid() || who.uid == 0);
}

/* Who asks nothing takes no place for long. */
static void on_limit(uv_timer_t *timer)
{
    struct control *control = timer->data;
    uint64_t now_ms = uv_now(timer->loop);
    bool waiting = false;
    struct client *next;

    for (struct client *c = control->clients; c; c = next) {
        next = c->next;
        if (c->id)
            continue;
        if (now_ms - c->since_ms >= LIMIT_MS)
            drop(c);
        else
            waiting = true;
    }
    if (waiting)
        (void)uv_timer_start(timer, on_limit, LIMIT_MS, 0);
}

static void on_connection(uv_poll_t *poll, int status, int events)
{
    struct control *control = poll->data;
    int fd = accept4(control->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    struct client *c;

    (void)status;
    (void)events;
    if (fd < 0)
        return;
    c = mem_zero(sizeof(*c));
    if (!is_ours(fd) || control->n == CLIENTS_MAX || uv_poll_init(poll->loop, &c->poll, fd) < 0) {
        (void)close(fd);
        free(c);
        return;
    }
    c->fd = fd;
    c->control = control;
    c->since_ms = uv_now(poll->loop);
    c->poll.data = c;
    c->next = control->clients;
    control->clients = c;
    control->n++;
    (void)uv_poll_start(&c->poll, UV_READABLE | UV_DISCONNECT, on_request);
    if (!uv_is_active((uv_handle_t *)&control->limit))
        (void)uv_timer_start(&control->limit, on_limit, LIMIT_MS, 0);
}

static int listen_at(const char *path)
{
    auto_free char *folder = mem_dup_n(path, strlen(path) - strlen("/" SOCKET_NAME));
    auto_fd int dir = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    auto_fd int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct sockaddr_un address;
    mode_t mask;
    int rc;

    if (dir < 0 || fd < 0)
        return -errno;
    (void)address_of(dir, &address);
    mask = umask(0177);
    rc = bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ? -errno : 0;
    (void)umask(mask);
    if (!rc && listen(fd, BACKLOG) < 0)
        rc = -errno;
    return rc ? rc : TAKE_FD(fd);
}

struct control *control_open(uv_loop_t *loop, const char *path, struct rack *rack,
                             const struct strv *names,
                             void (*on_fault)(void *data, const struct fault *fault), void *data,
                             struct err *err)
{
    int fd = listen_at(path);
    struct control *control;

    if (fd < 0) {
        (void)err_set(err, BLAME_PLATFORM, fd, "%s: %s", path, strerror(-fd));
        return NULL;
    }
    control = mem_zero(sizeof(*control));
    control->fd = fd;
    control->path = mem_dup(path);
    control->rack = rack;
    control->on_fault = on_fault;
    control->data = data;
    strv_add_all(&control->names, names);
    (void)uv_poll_init(loop, &control->poll, fd);
    control->poll.data = control;
    (void)uv_poll_start(&control->poll, UV_READABLE, on_connection);
    uv_unref((uv_handle_t *)&control->poll);
    (void)uv_timer_init(loop, &control->limit);
    control->limit.data = control;
    uv_unref((uv_handle_t *)&control->limit);
    return control;
}

void control_exec_exit(struct control *control, unsigned id, int status)
{
    int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    auto_free char *text = mem_printf(EXITED "%d", code);

    for (struct client *c = control->clients; c; c = c->next) {
        if (c->id != id)
            continue;
        answer(c, text);
        return;
    }
}

static void on_limit_closed(uv_handle_t *handle)
{
    struct control *control = handle->data;

    strv_done(&control->names);
    free(control->path);
    free(control);
}

static void on_control_closed(uv_handle_t *handle)
{
    struct control *control = handle->data;

    uv_close((uv_handle_t *)&control->limit, on_limit_closed);
}

void control_close(struct control *control)
{
    while (control->clients)
        drop(control->clients);
    (void)uv_poll_stop(&control->poll);
    (void)close(control->fd);
    (void)unlink(control->path);
    uv_close((uv_handle_t *)&control->poll, on_control_closed);
}

/* ---- the client ---------------------------------------------------------------------------- */

static int call(const char *state, bool waits, struct err *err)
{
    const struct timeval limit = {.tv_sec =
                                      LIMIT_MS / 1000}; /* an emulation may be stopped itself */
    auto_fd int dir = open(state, O_PATH | O_DIRECTORY | O_CLOEXEC);
    auto_fd int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    struct sockaddr_un address;

    if (dir >= 0 && fd >= 0) {
        (void)address_of(dir, &address);
        (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
        if (!waits)
            (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
        if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
            return TAKE_FD(fd);
    }
    return err_set(err, BLAME_USER, -errno, "%s: no emulation runs there (%s)", state,
                   strerror(errno));
}

static int say(int fd, const struct buf *words, bool with_streams, struct err *err)
{
    static const int streams[STREAMS] = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO};
    char space[CMSG_SPACE(sizeof(streams))] = {0};
    struct iovec part = {words->data, words->len};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

    if (words->len > REQUEST_MAX)
        return err_set(err, BLAME_USER, -E2BIG, "the command is longer than %zu bytes",
                       REQUEST_MAX);
    if (with_streams) {
        struct cmsghdr *header = (struct cmsghdr *)space;

        message.msg_control = space;
        message.msg_controllen = sizeof(space);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(streams));
        memcpy(CMSG_DATA(header), streams, sizeof(streams));
    }
    return sendmsg(fd, &message, MSG_NOSIGNAL) < 0
               ? err_set(err, BLAME_PLATFORM, -errno, "the emulation does not listen: %s",
                         strerror(errno))
               : 0;
}

static int status_of(const struct err *err)
{
    return err->blame == BLAME_USER ? USAGE : err_status(err->blame);
}

/* The exit status; with `err` where it is none of a command's. */
static int hear(int fd, struct err *err)
{
    char text[ANSWER_MAX + 1];
    ssize_t n;

    do
        n = recv(fd, text, ANSWER_MAX, 0);
    while (n < 0 && errno == EINTR);
    if (n <= 0) {
        (void)err_set(err, BLAME_HOST, -ECONNRESET,
                      n < 0 && errno == EAGAIN ? "the emulation does not answer"
                                               : "the emulation has ended");
        return status_of(err);
    }
    text[n] = '\0';
    if (strcmp(text, DONE) == 0)
        return 0;
    if (strncmp(text, EXITED, strlen(EXITED)) == 0)
        return (int)strtol(text + strlen(EXITED), NULL, 10);
    (void)err_set(err, BLAME_USER, -EINVAL, "%s", text);
    return status_of(err);
}

static int ask(const char *state, const struct buf *words, bool with_streams, struct err *err)
{
    auto_free char *found = state ? mem_dup(state) : state_find(err);
    auto_fd int fd = found ? call(found, with_streams, err) : -1;

    if (fd < 0 || say(fd, words, with_streams, err) < 0)
        return status_of(err);
    return hear(fd, err);
}

static void add_word(struct buf *words, const char *word)
{
    buf_add(words, word, strlen(word) + 1);
}

int control_exec(const char *state, const char *host, char *const *argv, struct err *err)
{
    auto_buf struct buf words = {0};

    add_word(&words, "exec");
    add_word(&words, host);
    for (; *argv; argv++)
        add_word(&words, *argv);
    return ask(state, &words, true, err);
}

int control_fault(const char *state, const char *spec, struct err *err)
{
    auto_buf struct buf words = {0};

    add_word(&words, "fault");
    add_word(&words, spec);
    return ask(state, &words, false, err);
}
