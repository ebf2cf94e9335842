/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/files.h"
#include "base/mem.h"
#include "emulator/cgroups.h"
#include "emulator/isolated.h"
#include "emulator/namespaces.h"
#include "emulator/rackd.h"

#define OPEN_LIMIT_S  60 /* for each answer of the rack, while it is made */
#define ORDER_LIMIT_S 5  /* until the rack takes an order */
#define NAMESPACES    (CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWIPC)

/* ---- opening: the rack's process ---- */

/* What the rack's process gets, with real paths; freed when it has its copy of all. */
struct plan {
    struct rack_spec spec;
    struct rack_host *hosts;
    char *daemon, *hide;
    struct ns_ranges ranges;
    struct rackd rackd;
};

static void plan_done(struct plan *p)
{
    for (size_t i = 0; p->hosts && i < p->spec.n; i++)
        free((void *)p->hosts[i].base);
    free(p->hosts);
    free(p->daemon);
    free(p->hide);
}

static char *real(const char *path, struct err *err)
{
    char *found = realpath(path, NULL);

    if (!found)
        (void)err_set(err, BLAME_USER, -errno, "%s: %s", path, strerror(errno));
    return found;
}

static int plan_begin(struct plan *p, const struct rack_spec *spec, struct err *err)
{
    p->spec = *spec;
    p->hosts = mem_zero(spec->n * sizeof(*p->hosts));
    for (size_t i = 0; i < spec->n; i++) {
        p->hosts[i] = spec->hosts[i];
        p->hosts[i].base = real(spec->hosts[i].base, err);
        if (!p->hosts[i].base)
            return err->code;
    }
    p->spec.hosts = p->hosts;
    p->daemon = real(spec->argv[0], err);
    if (!p->daemon)
        return err->code;
    if (access(p->daemon, X_OK) < 0)
        return err_set(err, BLAME_USER, -errno, "%s: %s", p->daemon, strerror(errno));
    p->hide = spec->hide ? realpath(spec->hide, NULL) : NULL;
    if (spec->mode == RACK_RANGE)
        return ns_ranges_find(&p->ranges, err);
    if (spec->mode == RACK_ROOT && geteuid() != 0)
        return err_set(err, BLAME_PLATFORM, -EPERM, "only for root");
    return 0;
}

static const struct {
    int code;
    const char *hint;
} refusals[] = {
    {EPERM,  " (not allowed to this user, or in this container)"   },
    {ENOSPC, " (sysctl user.max_user_namespaces allows no more)"   },
    {EUSERS, " (sysctl user.max_user_namespaces allows no more)"   },
    {ENOSYS, " (Linux 5.3 is needed, and a container that lets it)"},
};

static int refused(int code, struct err *err)
{
    const char *hint = "";

    for (size_t i = 0; i < LENGTH(refusals); i++)
        if (refusals[i].code == code)
            hint = refusals[i].hint;
    return err_set(err, BLAME_PLATFORM, -code, "namespaces are refused: %s%s", strerror(code),
                   hint);
}

/* A handler of the caller's must not run in the child: its descriptors are shared. */
static int spawn(struct isolated *s, const struct plan *p, struct err *err)
{
    uint64_t flags = NAMESPACES | (p->spec.mode == RACK_ROOT ? 0 : CLONE_NEWUSER);
    sigset_t all, before;
    int code;

    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, &before);
    s->pid = ns_clone(flags, &s->pidfd, -1);
    code = errno;
    if (s->pid == 0)
        rackd_run(&p->rackd);
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    return s->pid < 0 ? refused(code, err) : 0;
}

static int connect_pair(int type, int *ours, int *theirs, struct err *err)
{
    const struct timeval receive = {.tv_sec = OPEN_LIMIT_S};
    const struct timeval send = {.tv_sec = ORDER_LIMIT_S};
    const int size = 1 << 20; /* the ends of all hosts at once; the kernel may give less */
    int pair[2];

    if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, pair) < 0)
        return err_set(err, BLAME_PLATFORM, -errno, "socket: %s", strerror(errno));
    *ours = pair[0];
    *theirs = pair[1];
    (void)setsockopt(*ours, SOL_SOCKET, SO_RCVTIMEO, &receive, sizeof(receive));
    (void)setsockopt(*ours, SOL_SOCKET, SO_SNDTIMEO, &send, sizeof(send));
    (void)setsockopt(*ours, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
    (void)setsockopt(*theirs, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
    return 0;
}

static int begin_process(struct isolated *s, struct plan *p, struct err *err)
{
    auto_fd int control = -1;
    auto_fd int switch_rules = -1;

    if (connect_pair(SOCK_SEQPACKET, &s->control, &control, err) ||
        connect_pair(SOCK_SEQPACKET, &s->switch_rules, &switch_rules, err))
        return err->code;
    p->rackd = (struct rackd){.spec = &p->spec,
                              .mode = p->spec.mode,
                              .hosts = s->hosts_file,
                              .daemon = p->daemon,
                              .hide = p->hide,
                              .groups = s->groups,
                              .control = control,
                              .switch_rules = switch_rules};
    if (spawn(s, p, err))
        return err->code;
    if (p->spec.mode == RACK_ROOT)
        return 0;
    return ns_map(s->pid, p->spec.mode == RACK_RANGE ? &p->ranges : NULL, err);
}

/* ---- opening: its answers ---- */

static int await_word(struct isolated *s, struct rackd_message *m, struct err *err)
{
    struct rackd_fds fds = {.n = 0};
    int rc = rackd_receive(s->control, m, &fds);

    if (rc != 1)
        return err_set(err, BLAME_PLATFORM, rc < 0 ? rc : -EPIPE,
                       "the process that holds the emulated hosts %s",
                       rc == -EAGAIN ? "does not answer" : "has ended");
    if (m->word == RACKD_FAILED) {
        *err = m->err;
        return err->code;
    }
    for (size_t i = 0; i < fds.n && i < WATCH_STREAMS; i++)
        s->hosts[m->host].fds[i] = fds.fd[i];
    return 0;
}

static int await_switch(struct isolated *s, struct err *err)
{
    int answer = 0;
    ssize_t n;

    do {
        n = recv(s->switch_rules, &answer, sizeof(answer), 0);
    } while (n < 0 && errno == EINTR);
    if (n == 1)
        return 0;
    answer = n == sizeof(answer) ? answer : -EPIPE;
    return err_set(err, BLAME_PLATFORM, answer, "network of the emulated hosts: %s",
                   strerror(-answer));
}

static int await_ready(struct isolated *s, struct err *err)
{
    const struct rackd_message go = {.word = RACKD_GO};
    struct rackd_message m = {.word = RACKD_GO};
    int rc = rackd_send(s->control, &go, NULL);

    if (rc)
        return err_set(err, BLAME_PLATFORM, rc, "the process that holds the emulated hosts: %s",
                       strerror(-rc));
    while (m.word != RACKD_READY)
        if (await_word(s, &m, err))
            return err->code;
    return await_switch(s, err);
}

/* ---- opening ---- */

static struct isolated *make(uv_loop_t *loop, const struct rack_spec *spec,
                             const struct rack_calls *calls, void *data)
{
    struct isolated *s = mem_zero(sizeof(*s));

    s->rack = (struct rack){.ops = &isolated_ops, .mode = spec->mode, .n = spec->n};
    s->loop = loop;
    s->calls = *calls;
    s->data = data;
    s->pidfd = s->control = s->switch_rules = -1;
    s->hosts = mem_zero(spec->n * sizeof(*s->hosts));
    for (size_t i = 0; i < spec->n; i++)
        for (int k = 0; k < WATCH_STREAMS; k++)
            s->hosts[i].fds[k] = -1;
    return s;
}

static int open_files(struct isolated *s, const struct rack_spec *spec, struct err *err)
{
    auto_free char *state = real(spec->state, err);
    bool memory = false;
    int rc;

    if (!state)
        return err->code;
    s->hosts_file = path_join(state, "hosts");
    rc = hostnames_open(&s->names, s->hosts_file, spec->hosts, spec->n, spec->ipv6);
    if (rc)
        return err_set(err, BLAME_USER, rc, "%s: %s", s->hosts_file, strerror(-rc));
    for (size_t i = 0; i < spec->n; i++)
        memory = memory || spec->hosts[i].memory_mib > 0;
    s->groups = cgroups_open(spec->n, memory, err);
    return s->groups ? 0 : err->code;
}

struct rack *isolated_open(uv_loop_t *loop, const struct rack_spec *spec,
                           const struct rack_calls *calls, void *data, struct err *err)
{
    struct isolated *s = make(loop, spec, calls, data);
    struct plan plan = {.hosts = NULL};

    if (!plan_begin(&plan, spec, err) && !open_files(s, spec, err) &&
        !begin_process(s, &plan, err) && !await_ready(s, err)) {
        if (spec->mode == RACK_RANGE)
            s->rack.mode_text = mem_printf("user namespaces, uids %lu-%lu", plan.ranges.uids.first,
                                           plan.ranges.uids.first + plan.ranges.uids.count - 1);
        plan_done(&plan);
        isolated_listen(s);
        return &s->rack;
    }
    plan_done(&plan);
    isolated_drop(s);
    return NULL;
}
