/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "emulator/isolated.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "emulator/cgroups.h"
#include "emulator/enter.h"
#include "emulator/hostnames.h"
#include "emulator/rackd.h"
#include "emulator/switch.h"

#define CLOSE_LIMIT_MS 5000 /* until everything has ended and is tidied up */
#define EOF_LIMIT_MS   1000 /* from a daemon's end to that of its output: a stray may hold it */

static struct isolated *isolated_of(struct rack *r)
{
    return (struct isolated *)(void *)r;
}

/* ---- the end ---- */

static bool has_ended(const struct isolated *s)
{
    struct pollfd end = {.fd = s->pidfd, .events = POLLIN};
    int rc;

    do {
        rc = poll(&end, 1, CLOSE_LIMIT_MS);
    } while (rc < 0 && errno == EINTR);
    return rc > 0;
}

/* Waits for the rack's process, which kills and tidies up as soon as its socket ends. */
static void end_process(struct isolated *s)
{
    cleanup_fd(&s->switch_rules);
    if (s->control >= 0)
        (void)shutdown(s->control, SHUT_RDWR);
    if (s->pid > 0 && !has_ended(s)) {
        (void)kill(s->pid, SIGKILL);
        (void)has_ended(s);
    }
    if (s->pid > 0)
        (void)waitpid(s->pid, NULL, WNOHANG);
    s->pid = 0;
    cleanup_fd(&s->pidfd);
}

/* Everything but what belongs to the loop. */
static void undo(struct isolated *s)
{
    end_process(s);
    cleanup_fd(&s->control);
    for (size_t i = 0; i < s->rack.n; i++)
        for (int k = 0; k < ISOLATED_STREAMS; k++)
            cleanup_fd(&s->hosts[i].streams[k].fd);
    cgroups_close(TAKE(s->groups));
    if (s->names.lines)
        (void)unlink(s->hosts_file);
    hostnames_close(&s->names);
}

static void free_all(struct isolated *s)
{
    free(s->hosts_file);
    free(s->hosts);
    free(s->rack.mode_text);
    free(s);
}

static void handle_gone(struct isolated *s)
{
    s->handles--;
    if (s->closing && !s->handles)
        free_all(s);
}

static void on_stream_closed(uv_handle_t *handle)
{
    handle_gone(((struct isolated_stream *)handle->data)->rack);
}

static void on_timer_closed(uv_handle_t *handle)
{
    handle_gone(((struct isolated_host *)handle->data)->rack);
}

static void on_orders_closed(uv_handle_t *handle)
{
    handle_gone(handle->data);
}

static void close_rack(struct rack *r)
{
    struct isolated *s = isolated_of(r);

    s->closing = true;
    (void)uv_poll_stop(&s->orders);
    uv_close((uv_handle_t *)&s->orders, on_orders_closed);
    for (size_t i = 0; i < r->n; i++) {
        for (int k = 0; k < ISOLATED_STREAMS; k++) {
            if (s->hosts[i].streams[k].open)
                uv_close((uv_handle_t *)&s->hosts[i].streams[k].pipe, on_stream_closed);
            s->hosts[i].streams[k].open = false;
        }
        uv_close((uv_handle_t *)&s->hosts[i].limit, on_timer_closed);
    }
    undo(s);
}

/* ---- output, and the end of a daemon ---- */

static void look_if_ended(struct isolated_host *h, bool late)
{
    struct isolated *s = h->rack;

    if (!h->ended || h->told || s->closing || (!late && (h->streams[0].open || h->streams[1].open)))
        return;
    h->told = true;
    (void)uv_timer_stop(&h->limit);
    s->calls.on_exit(s->data, (size_t)(h - s->hosts), h->status);
}

static void on_limit(uv_timer_t *timer)
{
    look_if_ended(timer->data, true);
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
    struct isolated_stream *stream = pipe->data;
    struct isolated *s = stream->rack;

    if (n > 0 && !s->closing)
        s->calls.on_output(s->data, stream->host, stream->number, bytes->base, (size_t)n);
    if (n >= 0 || !stream->open)
        return;
    stream->open = false;
    uv_close((uv_handle_t *)pipe, on_stream_closed);
    look_if_ended(&s->hosts[stream->host], false);
}

static void daemon_ended(struct isolated_host *h, int status)
{
    h->ended = true;
    h->status = status;
    (void)uv_timer_start(&h->limit, on_limit, EOF_LIMIT_MS, 0);
    look_if_ended(h, false);
}

/* ---- what the rack says ---- */

static void broke(struct isolated *s, const char *why)
{
    (void)uv_poll_stop(&s->orders);
    if (s->broken)
        return;
    s->broken = true;
    s->calls.on_broken(s->data, why);
}

static void on_word(uv_poll_t *orders, int status, int events)
{
    struct isolated *s = orders->data;
    struct rackd_message m = {.word = RACKD_FAILED};

    (void)events;
    if (status < 0 || rackd_receive(s->control, &m, NULL) != 1) {
        broke(s, "the process that holds the emulated hosts has ended");
        return;
    }
    if (m.word == RACKD_FAILED)
        broke(s, m.err.text);
    else if (m.word == RACKD_EXIT && m.host < s->rack.n)
        daemon_ended(&s->hosts[m.host], m.number);
    else if (m.word == RACKD_EXEC_EXIT)
        s->calls.on_exec_exit(s->data, m.id, m.number);
}

/* ---- orders ---- */

static int order(struct isolated *s, const struct rackd_message *m, const struct rackd_fds *fds)
{
    return s->broken ? -EPIPE : rackd_send(s->control, m, fds);
}

static void start(struct rack *r, size_t host)
{
    const struct rackd_message m = {.word = RACKD_START, .host = host};

    (void)order(isolated_of(r), &m, NULL);
}

static void send_signal(struct rack *r, size_t host, int number)
{
    const struct rackd_message m = {.word = RACKD_SIGNAL, .host = host, .number = number};

    (void)order(isolated_of(r), &m, NULL);
}

static void freeze(struct rack *r, size_t host, bool on)
{
    const struct rackd_message m = {.word = RACKD_FREEZE, .host = host, .number = on};

    (void)order(isolated_of(r), &m, NULL);
}

static void name(struct rack *r, size_t host, bool known)
{
    hostnames_set(&isolated_of(r)->names, host, known);
}

/* From one host to all is a row of the switch's table, and to all is a column too. */
static void road(struct rack *r, size_t from, size_t to, bool cut, unsigned delay_ms, double loss)
{
    const struct switch_rule rule = {
        .from = from, .to = to, .cut = cut, .delay_ms = delay_ms, .loss = loss};
    struct switch_rule back = rule;

    back.from = to;
    back.to = from;
    (void)send(isolated_of(r)->switch_rules, &rule, sizeof(rule), MSG_NOSIGNAL);
    if (from != to && (from == SIZE_MAX || to == SIZE_MAX))
        (void)send(isolated_of(r)->switch_rules, &back, sizeof(back), MSG_NOSIGNAL);
}

static void run_command(struct rack *r, size_t host, char *const *argv, char *const *env,
                        const int fds[3], unsigned id)
{
    struct isolated *s = isolated_of(r);
    const struct rackd_message m = {.word = RACKD_EXEC, .host = host, .id = id};
    auto_fd int words = enter_pack(argv, env);
    const struct rackd_fds all = {
        .fd = {words, fds[0], fds[1], fds[2]},
          .n = RACKD_FDS_MAX
    };

    if (words < 0 || order(s, &m, &all) < 0)
        s->calls.on_exec_exit(s->data, id, 127 << 8);
}

const struct rack_ops isolated_ops = {start, send_signal, freeze,    name,
                                      road,  run_command, close_rack};

/* ---- from its making to its end ---- */

void isolated_listen(struct isolated *s)
{
    (void)uv_poll_init(s->loop, &s->orders, s->control);
    s->orders.data = s;
    s->handles = 1;
    (void)uv_poll_start(&s->orders, UV_READABLE, on_word);
    for (size_t i = 0; i < s->rack.n; i++) {
        struct isolated_host *h = &s->hosts[i];

        (void)uv_timer_init(s->loop, &h->limit);
        h->limit.data = h;
        s->handles++;
        for (int k = 0; k < ISOLATED_STREAMS; k++) {
            (void)uv_pipe_init(s->loop, &h->streams[k].pipe, 0);
            (void)uv_pipe_open(&h->streams[k].pipe, TAKE_FD(h->streams[k].fd));
            h->streams[k].pipe.data = &h->streams[k];
            h->streams[k].open = true;
            s->handles++;
            (void)uv_read_start((uv_stream_t *)&h->streams[k].pipe, on_alloc, on_read);
        }
    }
}

void isolated_drop(struct isolated *s)
{
    undo(s);
    free_all(s);
}
