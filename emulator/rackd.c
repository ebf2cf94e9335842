/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "emulator/rackd.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "emulator/cgroups.h"
#include "emulator/enter.h"
#include "emulator/halt.h"
#include "emulator/host.h"
#include "emulator/hostfs.h"
#include "emulator/namespaces.h"
#include "emulator/rackd_parts.h"

static struct rack_process rack;

/* ---- the rack's own process ---- */

static void arrange_fds(void)
{
    int keep[] = {rack.in.control, rack.in.switch_rules};
    int null;

    ns_keep_fds(keep, LENGTH(keep));
    null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0)
        _exit(1); /* standard error stays, for what a sanitizer says */
    if (null > STDERR_FILENO)
        (void)close(null);
}

/* The end of children is read from a descriptor. */
static void arrange_signals(void)
{
    sigset_t set;

    ns_reset_signals();
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGCHLD);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    rack.signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* ---- ends ---- */

static void tell_exit(size_t i, int status)
{
    const struct rackd_message m = {.word = RACKD_EXIT, .host = i, .number = status};

    if (!rack.closing)
        (void)rackd_send(rack.in.control, &m, NULL);
}

/* By a process of its own, as it may take a while; it then tells of the end. */
static void tidy(size_t i, int output, int status)
{
    const char *base = rack.in.spec->hosts[i].base;
    pid_t pid = ns_clone(0, NULL, -1);

    if (pid > 0)
        return;
    if (output >= 0)
        hostfs_keep_output(output, base);
    if (rack.in.mode == RACK_RANGE)
        hostfs_take_back(base);
    tell_exit(i, status);
    if (pid == 0)
        _exit(0);
}

static void host_ended(size_t i, int status)
{
    struct rackd_member *m = &rack.hosts[i];

    m->pid = 0;
    cleanup_fd(&m->pidfd);
    cleanup_fd(&m->line);
    if (m->output >= 0 || rack.in.mode == RACK_RANGE)
        tidy(i, m->output, status);
    else
        tell_exit(i, status);
    cleanup_fd(&m->output);
}

static void child_ended(pid_t pid, int status)
{
    struct rackd_message m = {.word = RACKD_FAILED};

    for (size_t i = 0; i < rack.n; i++)
        if (rack.hosts[i].pid == pid)
            host_ended(i, status);
    if (pid != rack.network || rack.closing)
        return;
    (void)err_set(&m.err, BLAME_SELF, -EIO, "the process that carries the network has ended (%d)",
                  status);
    (void)rackd_send(rack.in.control, &m, NULL);
    _exit(1);
}

static void reap(void)
{
    struct signalfd_siginfo info;
    int status = 0;
    pid_t pid;

    while (read(rack.signals, &info, sizeof(info)) > 0)
        ;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        child_ended(pid, status);
}

/* Process 1 of a namespace that ends takes all others along; but these are tidied up after. */
_Noreturn static void close_down(void)
{
    int status = 0;
    pid_t pid;

    rack.closing = true;
    for (size_t i = 0; i < rack.n; i++)
        if (rack.hosts[i].pid > 0)
            (void)kill(rack.hosts[i].pid, SIGKILL);
    if (rack.network > 0)
        (void)kill(rack.network, SIGKILL);
    while ((pid = waitpid(-1, &status, 0)) > 0 || errno == EINTR)
        child_ended(pid, status);
    _exit(0);
}

/* ---- orders ---- */

static void freeze(size_t i, bool on)
{
    if (rack.hosts[i].pid > 0 && !cgroups_freeze(rack.in.groups, i, on))
        halt_all(rack.hosts[i].pid, on);
}

static void carry_out(const struct rackd_message *m, struct rackd_fds *fds)
{
    struct rackd_member *h;

    if (m->host >= rack.n)
        return;
    h = &rack.hosts[m->host];
    switch (m->word) {
    case RACKD_START:
        if (h->pid > 0)
            (void)send(h->line, HOST_START, 1, MSG_NOSIGNAL);
        break;
    case RACKD_SIGNAL:
        if (h->pid > 0)
            (void)kill(h->pid, m->number);
        break;
    case RACKD_FREEZE:
        freeze(m->host, m->number != 0);
        break;
    case RACKD_EXEC:
        enter_run(&rack.in, m->host, h->pid > 0 ? h->pidfd : -1, fds, m->id);
        break;
    default:
        break;
    }
}

static void take_order(void)
{
    struct rackd_message m = {.word = RACKD_FAILED};
    struct rackd_fds fds = {.n = 0};

    if (rackd_receive(rack.in.control, &m, &fds) != 1)
        close_down();
    carry_out(&m, &fds);
    for (size_t i = 0; i < fds.n; i++)
        (void)close(fds.fd[i]);
}

_Noreturn static void serve(void)
{
    struct pollfd fds[] = {
        {.fd = rack.in.control, .events = POLLIN},
        {.fd = rack.signals,    .events = POLLIN}
    };

    for (;;) {
        if (poll(fds, LENGTH(fds), -1) < 0 && errno != EINTR)
            _exit(1);
        if (fds[1].revents)
            reap();
        if (fds[0].revents)
            take_order();
    }
}

_Noreturn void rackd_run(const struct rackd *r)
{
    struct rackd_message m = {.word = RACKD_READY};

    rack.in = *r;
    rack.n = r->spec->n;
    rack.hosts = mem_zero(rack.n * sizeof(*rack.hosts));
    for (size_t i = 0; i < rack.n; i++)
        rack.hosts[i] = (struct rackd_member){.pidfd = -1, .line = -1, .output = -1};
    arrange_fds();
    arrange_signals();
    if (rackd_receive(rack.in.control, &m, NULL) != 1)
        _exit(1);
    m = (struct rackd_message){.word = RACKD_READY};
    if (rackd_make_hosts(&rack, &m.err))
        m.word = RACKD_FAILED;
    if (rackd_send(rack.in.control, &m, NULL) < 0 || m.word == RACKD_FAILED)
        close_down();
    serve();
}
