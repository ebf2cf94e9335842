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
        for (int k = 0; k < WATCH_STREAMS; k++)
            cleanup_fd(&s->hosts[i].fds[k]);
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

static void on_handle_closed(void *rack)
{
    struct isolated *s = rack;

    if (s->closing && !s->handles)
        free_all(s);
}

static void on_orders_closed(uv_handle_t *handle)
{
    struct isolated *s = handle->data;

    s->handles--;
    on_handle_closed(s);
}

static void close_rack(struct rack *r)
{
    struct isolated *s = isolated_of(r);

    s->closing = true;
    (void)uv_poll_stop(&s->orders);
    uv_close((uv_handle_t *)&s->orders, on_orders_closed);
    for (size_t i = 0; i < r->n; i++)
        watch_close(&s->hosts[i].watch);
    undo(s);
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
        watch_ended(&s->hosts[m.host].watch, m.number);
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

        h->watch = (struct watch){.calls = &s->calls,
                                  .data = s->data,
                                  .host = i,
                                  .on_handle_closed = on_handle_closed,
                                  .owner = s,
                                  .handles = &s->handles};
        watch_open(&h->watch, s->loop);
        for (int k = 0; k < WATCH_STREAMS; k++)
            watch_read(&h->watch, k, TAKE_FD(h->fds[k]));
    }
}

void isolated_drop(struct isolated *s)
{
    undo(s);
    free_all(s);
}
