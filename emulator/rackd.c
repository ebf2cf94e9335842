/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "emulator/rackd.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/strv.h"
#include "emulator/cgroups.h"
#include "emulator/folders.h"
#include "emulator/hostfs.h"
#include "emulator/namespaces.h"
#include "emulator/netlink.h"

#define HOST_FLAGS     (CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWNET)
#define SETUP_LIMIT_MS 60000
#define ROUNDS_MAX     10 /* of looking for processes to freeze that were born meanwhile */
#define COMMANDS_MAX   256
#define NET_BITS       16
#define NET6_BITS      64

struct member {
    pid_t pid;
    int pidfd;  /* -1: it has ended */
    int line;   /* to its first process: 'n' the network is there, 's' start the daemon */
    int output; /* its own disk for output, to be saved at the end; -1: none */
    ino_t pids; /* its namespace of processes */
    char *cgroup;
    bool started;
};

struct command {
    pid_t pid;
    int pidfd;
    unsigned id;
};

static struct {
    const struct rackd_spec *spec;
    const struct rack_spec *rack;
    size_t n;
    struct member *hosts;
    struct command commands[COMMANDS_MAX];
    size_t n_commands;
    int roads; /* to the switch */
} d;

/* ---- words with the caller
 * ------------------------------------------------------------------------ */

static void tell(const struct rackd_event *event)
{
    if (send(d.spec->socket, event, sizeof(*event), MSG_NOSIGNAL) < 0)
        _exit(1); /* it has gone, and so do all */
}

_Noreturn static void give_up(const struct err *err)
{
    tell(&(struct rackd_event){.news = RACKD_FAILED, .err = *err});
    _exit(1);
}

_Noreturn static void give_up_for(const char *what, int rc)
{
    struct err err = ERR_INIT;

    (void)err_set(&err, BLAME_PLATFORM, rc, "%s: %s", what, strerror(-rc));
    give_up(&err);
}

/* ---- in a host: before its daemon
 * ------------------------------------------------------------------ */

static void mac_of(size_t host, uint8_t mac[6])
{
    const uint8_t all[] = {0x02, 0x66, 0, 0, (uint8_t)((host + 1) >> 8), (uint8_t)(host + 1)};

    memcpy(mac, all, 6);
}

static struct in_addr address_of(size_t host)
{
    return (struct in_addr){htonl(0x0a420000U + (uint32_t)host + 1)};
}

static struct in6_addr address6_of(size_t host)
{
    struct in6_addr a = {
        .s6_addr = {0xfd, 0x66}
    };

    a.s6_addr[14] = (uint8_t)((host + 1) >> 8);
    a.s6_addr[15] = (uint8_t)(host + 1);
    return a;
}

static int add_neighbours(int netlink, unsigned eth0, size_t own)
{
    int rc = 0;

    for (size_t i = 0; i < d.n && !rc; i++) {
        const struct in_addr at = address_of(i);
        const struct in6_addr at6 = address6_of(i);
        uint8_t mac[6];

        if (i == own)
            continue;
        mac_of(i, mac);
        rc = netlink_neighbour(netlink, eth0, AF_INET, &at, mac);
        if (!rc && d.rack->ipv6)
            rc = netlink_neighbour(netlink, eth0, AF_INET6, &at6, mac);
    }
    return rc;
}

static int make_network(size_t own)
{
    auto_fd int netlink = netlink_open();
    unsigned eth0 = if_nametoindex("eth0");
    const struct in6_addr own6 = address6_of(own);
    int rc = netlink < 0 ? netlink : netlink_up(netlink, if_nametoindex("lo"));

    if (!rc)
        rc = netlink_up(netlink, eth0);
    if (!rc)
        rc = netlink_address4(netlink, eth0, address_of(own), NET_BITS);
    if (!rc && d.rack->ipv6)
        rc = netlink_address6(netlink, eth0, &own6, NET6_BITS);
    return rc ? rc : add_neighbours(netlink, eth0, own);
}

static void add_if_missing(struct strv *env, const char *name, const char *value)
{
    if (!strv_env(env, name))
        strv_env_set(env, name, value);
}

static void host_environment(size_t own, struct strv *env)
{
    const struct rack_host *h = &d.rack->hosts[own];

    for (char *const *variable = h->env; variable && *variable; variable++)
        strv_add(env, *variable);
    add_if_missing(env, "PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    add_if_missing(env, "HOME", "/root");
    add_if_missing(env, "HOSTNAME", h->name);
}

static void default_signals(void)
{
    sigset_t none;

    (void)sigemptyset(&none);
    for (int i = 1; i < NSIG; i++)
        (void)signal(i, SIG_DFL);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

_Noreturn static void become_daemon(size_t own)
{
    auto_strv struct strv env = {0};
    int null = open("/dev/null", O_RDONLY);

    host_environment(own, &env);
    (void)setsid();
    (void)chdir("/");
    if (null < 0 || dup2(null, 0) < 0 || dup2(d.spec->outputs[own][0], 1) < 0 ||
        dup2(d.spec->outputs[own][1], 2) < 0)
        _exit(127);
    (void)close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
    (void)fexecve(d.spec->program, d.rack->argv, strv_list(&env));
    dprintf(2, "serry: %s: %s\n", d.rack->argv[0], strerror(errno));
    _exit(127);
}

/* A stream ends when nobody holds it any more: no process but the rack and the host's own may. */
static void close_outputs(size_t but)
{
    for (size_t i = 0; i < d.n; i++) {
        if (i == but)
            continue;
        (void)close(d.spec->outputs[i][0]);
        (void)close(d.spec->outputs[i][1]);
    }
}

/* A byte of the line; the rack is gone without. */
static void await(int line)
{
    char byte;

    if (read(line, &byte, 1) != 1)
        _exit(1);
}

/* Says over the line how it went: a struct err, of code 0 if all is well. */
_Noreturn static void run_host(size_t own, int line)
{
    const struct rack_host *h = &d.rack->hosts[own];
    struct err err = ERR_INIT;
    const struct hostfs fs = {.name = h->name,
                              .base = h->base,
                              .hosts_file = d.spec->hosts_file,
                              .program = d.rack->argv[0],
                              .hide = d.rack->hide,
                              .gpus = h->gpus,
                              .disk_mib = h->disk_mib,
                              .root = d.rack->mode == RACK_ROOT};
    int rc;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    close_outputs(own);
    (void)sethostname(h->name, strlen(h->name));
    if (hostfs_build(&fs, &err) == 0) {
        await(line);
        rc = make_network(own);
        if (rc)
            (void)err_set(&err, BLAME_PLATFORM, rc, "%s: its network: %s", h->name, strerror(-rc));
    }
    if (write(line, &err, sizeof(err)) != (ssize_t)sizeof(err) || err.code)
        _exit(1);
    await(line);
    become_daemon(own);
}

/* ---- setting up
 * -------------------------------------------------------------------------------------- */

static int open_in_proc(pid_t pid, const char *what, int flags)
{
    auto_free char *path = mem_printf("/proc/%d/%s", (int)pid, what);
    int fd = open(path, flags | O_CLOEXEC);

    return fd < 0 ? -errno : fd;
}

static unsigned plug_in(int netlink, size_t host)
{
    auto_fd int where = open_in_proc(d.hosts[host].pid, "ns/net", O_RDONLY);
    auto_free char *name = mem_printf("v%zu", host + 1);
    uint8_t mac[6];
    int rc;

    mac_of(host, mac);
    rc = where < 0 ? where : netlink_veth(netlink, name, "eth0", mac, where);
    if (rc < 0)
        give_up_for("a veth pair", rc);
    return if_nametoindex(name);
}

static void limit_memory(size_t host)
{
    const struct rack_host *h = &d.rack->hosts[host];
    auto_free char *unique =
        mem_printf("serry-emulate-%lx-%zu", (unsigned long)d.hosts[host].pids, host);
    struct err err = ERR_INIT;

    if (!h->memory_mib)
        return;
    d.hosts[host].cgroup = cgroups_limit(unique, d.hosts[host].pid, h->memory_mib, &err);
    if (!d.hosts[host].cgroup)
        give_up(&err);
}

static void make_host(size_t i)
{
    struct member *h = &d.hosts[i];
    struct stat st;
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        give_up_for("a socket pair", -errno);
    h->output = -1;
    h->pid = namespaces_fork(HOST_FLAGS, &h->pidfd);
    if (h->pid == 0) {
        (void)close(ends[0]);
        run_host(i, ends[1]);
    }
    if (h->pid < 0)
        give_up_for("namespaces of a host", h->pid);
    (void)close(ends[1]);
    h->line = ends[0];
    {
        auto_fd int fd = open_in_proc(h->pid, "ns/pid", O_RDONLY);

        h->pids = fd >= 0 && fstat(fd, &st) == 0 ? st.st_ino : 0;
    }
    limit_memory(i);
}

static void start_switch(const unsigned *interfaces)
{
    int ends[2], pidfd, why = 0;
    char up[8];
    ssize_t n;
    pid_t pid;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        give_up_for("a socket pair", -errno);
    pid = namespaces_fork(0, &pidfd);
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)close(ends[0]);
        (void)close(d.spec->socket);
        close_outputs(SIZE_MAX);
        switch_run(interfaces, d.n, ends[1]);
    }
    (void)close(ends[1]);
    if (pid > 0)
        (void)close(pidfd);
    n = pid < 0 ? -1 : recv(ends[0], up, sizeof(up), 0);
    if (n == (ssize_t)sizeof(why))
        memcpy(&why, up, sizeof(why));
    if (n != 1)
        give_up_for("the network's switch", why ? why : -EIO);
    d.roads = ends[0];
}

/* Each says how far it has come, or it ends. */
static void await_host(size_t i)
{
    struct pollfd p = {.fd = d.hosts[i].line, .events = POLLIN};
    struct err err = ERR_INIT;

    if (poll(&p, 1, SETUP_LIMIT_MS) != 1)
        give_up_for(d.rack->hosts[i].name, -ETIMEDOUT);
    if (recv(p.fd, &err, sizeof(err), 0) != (ssize_t)sizeof(err))
        give_up_for(d.rack->hosts[i].name, -ECHILD);
    if (err.code)
        give_up(&err);
    if (d.rack->hosts[i].disk_mib)
        d.hosts[i].output =
            open_in_proc(d.hosts[i].pid, "root/opt/ml/output", O_PATH | O_DIRECTORY);
}

/* Nothing of the caller's stays open here but what is needed. */
static void close_others(void)
{
    DIR *all = opendir("/proc/self/fd");
    const struct dirent *entry;

    while (all && (entry = readdir(all))) {
        int fd = (int)strtol(entry->d_name, NULL, 10);
        bool keep = fd <= 2 || fd == dirfd(all) || fd == d.spec->socket || fd == d.spec->program ||
                    fd == d.spec->go;

        for (size_t i = 0; i < d.n && !keep; i++)
            keep = fd == d.spec->outputs[i][0] || fd == d.spec->outputs[i][1];
        if (!keep)
            (void)close(fd);
    }
    if (all)
        (void)closedir(all);
}

static void become_rack(void)
{
    default_signals();
    close_others();
    (void)setsid();
    await(d.spec->go);
    (void)close(d.spec->go);
    if (d.rack->mode != RACK_ROOT && (setresgid(0, 0, 0) < 0 || setresuid(0, 0, 0) < 0))
        give_up_for("root of a user namespace", -errno);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* a change of uids takes it back */
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        give_up_for("a private mount namespace", -errno);
    if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
        give_up_for("a new /proc", -errno);
}

static void make_all(void)
{
    auto_fd int netlink = netlink_open();
    auto_free unsigned *interfaces = mem_zero((d.n + 1) * sizeof(*interfaces));

    if (netlink < 0)
        give_up_for("netlink", netlink);
    (void)netlink_up(netlink, if_nametoindex("lo"));
    d.hosts = mem_zero((d.n + 1) * sizeof(*d.hosts));
    for (size_t i = 0; i < d.n; i++) {
        make_host(i);
        interfaces[i] = plug_in(netlink, i);
    }
    start_switch(interfaces);
    for (size_t i = 0; i < d.n; i++)
        (void)send(d.hosts[i].line, "n", 1, MSG_NOSIGNAL);
    for (size_t i = 0; i < d.n; i++)
        await_host(i);
}

/* ---- orders
 * --------------------------------------------------------------------------------------------- */

static void freeze_round(const struct member *h, int number, size_t *hit)
{
    DIR *all = opendir("/proc");
    const struct dirent *entry;

    *hit = 0;
    while (all && (entry = readdir(all))) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        auto_free char *path = mem_printf("/proc/%d/ns/pid", (int)pid);
        struct stat st;

        if (pid > 1 && stat(path, &st) == 0 && st.st_ino == h->pids && kill(pid, number) == 0)
            ++*hit;
    }
    if (all)
        (void)closedir(all);
}

/* Until no more are found than before: some may have been born meanwhile. */
static void freeze(struct member *h, bool on)
{
    size_t before = 0, now;

    for (int i = 0; i < ROUNDS_MAX; i++, before = now) {
        freeze_round(h, on ? SIGSTOP : SIGCONT, &now);
        if (now == before)
            break;
    }
}

_Noreturn static void run_command(const struct member *h, char *const *argv, char *const *env,
                                  const int fds[3])
{
    int status = 0, pidfd;
    pid_t pid;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)setsid();
    close_outputs(SIZE_MAX);
    for (int i = 0; i < 3; i++)
        if (dup2(fds[i], i) < 0)
            _exit(127);
    if (setns(h->pidfd, HOST_FLAGS) < 0) {
        dprintf(2, "serry: the host cannot be entered: %s\n", strerror(errno));
        _exit(127);
    }
    pid = namespaces_fork(0, &pidfd); /* into the namespace of processes */
    if (pid == 0) {
        (void)close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)chdir("/");
        (void)execvpe(argv[0], argv, env);
        dprintf(2, "serry: %s: %s\n", argv[0], strerror(errno));
        _exit(127);
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

static void split(const char *words, size_t n, struct strv *argv, struct strv *env)
{
    struct strv *to = argv;

    for (size_t at = 0; at < n; at += strlen(words + at) + 1) {
        if (words[at])
            strv_add(to, words + at);
        else
            to = env;
    }
}

static void take_command(const struct rackd_command *order, const char *words, size_t n,
                         const int fds[3])
{
    auto_strv struct strv argv = {0};
    auto_strv struct strv env = {0};
    struct command *c = &d.commands[d.n_commands];
    const struct member *h = &d.hosts[order->host];

    split(words, n, &argv, &env);
    if (h->pidfd < 0 || !argv.n || fds[2] < 0 || d.n_commands == COMMANDS_MAX) {
        tell(&(struct rackd_event){
            .news = RACKD_COMMAND_EXITED, .id = order->id, .status = 127 << 8});
        return;
    }
    c->pid = namespaces_fork(0, &c->pidfd);
    if (c->pid == 0)
        run_command(h, strv_list(&argv), strv_list(&env), fds);
    c->id = order->id;
    d.n_commands += c->pid > 0;
}

static void obey(const struct rackd_command *order, const char *words, size_t n, const int fds[3])
{
    struct member *h = &d.hosts[order->host];

    switch (order->order) {
    case RACKD_START:
        if (!h->started && h->line >= 0)
            (void)send(h->line, "s", 1, MSG_NOSIGNAL);
        h->started = true;
        break;
    case RACKD_SIGNAL:
        if (h->pidfd >= 0)
            (void)pidfd_send_signal(h->pidfd, order->number, NULL, 0);
        break;
    case RACKD_FREEZE:
        freeze(h, order->number != 0);
        break;
    case RACKD_ROAD:
        (void)send(d.roads, &order->rule, sizeof(order->rule), MSG_NOSIGNAL);
        break;
    case RACKD_EXEC:
        take_command(order, words, n, fds);
        break;
    }
}

static void take_order(void)
{
    static char words[RACKD_WORDS_MAX + 1];
    struct rackd_command order;
    struct iovec parts[] = {
        {&order, sizeof(order)  },
        {words,  RACKD_WORDS_MAX}
    };
    char space[CMSG_SPACE(3 * sizeof(int))];
    struct msghdr m = {
        .msg_iov = parts, .msg_iovlen = 2, .msg_control = space, .msg_controllen = sizeof(space)};
    ssize_t n = recvmsg(d.spec->socket, &m, MSG_CMSG_CLOEXEC);
    int fds[3] = {-1, -1, -1};

    if (n < 0 && errno == EINTR)
        return;
    if (n < (ssize_t)sizeof(order))
        _exit(0); /* the caller has gone */
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c))
        if (c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof(fds)))
            memcpy(fds, CMSG_DATA(c), sizeof(fds));
    words[n - (ssize_t)sizeof(order)] = '\0';
    if (order.host < d.n)
        obey(&order, words, (size_t)n - sizeof(order), fds);
    for (int i = 0; i < 3; i++)
        if (fds[i] >= 0)
            (void)close(fds[i]);
}

/* ---- ends
 * ------------------------------------------------------------------------------------------------
 */

/* The host's own disk for output goes with it: what is on it is kept where its base is. */
static void save_output(size_t host)
{
    struct member *h = &d.hosts[host];
    auto_free char *from = mem_printf("/proc/self/fd/%d", h->output);
    auto_free char *to = mem_printf("%s/output", d.rack->hosts[host].base);
    struct folders_bound bound = {100000, (off_t)1 << 40};
    struct err err = ERR_INIT;

    if (h->output < 0)
        return;
    (void)mkdir(to, 0755);
    (void)folders_copy(from, to, NULL, &bound, &err);
    (void)close(h->output);
    h->output = -1;
}

static void host_ended(size_t i)
{
    struct member *h = &d.hosts[i];
    struct rackd_event event = {.news = RACKD_EXITED, .host = i};

    if (waitpid(h->pid, &event.status, WNOHANG) != h->pid)
        return;
    (void)close(h->pidfd);
    (void)close(h->line);
    h->pidfd = h->line = -1;
    save_output(i);
    cgroups_remove(TAKE(h->cgroup));
    (void)close(d.spec->outputs[i][0]);
    (void)close(d.spec->outputs[i][1]);
    tell(&event);
}

static void command_ended(size_t i)
{
    struct command *c = &d.commands[i];
    struct rackd_event event = {.news = RACKD_COMMAND_EXITED, .id = c->id};

    if (waitpid(c->pid, &event.status, WNOHANG) != c->pid)
        return;
    (void)close(c->pidfd);
    *c = d.commands[--d.n_commands];
    tell(&event);
}

/* Strays of commands come to us, process 1; those of ours are waited for by their descriptors. */
static void reap_strays(void)
{
    siginfo_t info;

    for (;;) {
        bool ours = false;

        info.si_pid = 0;
        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || !info.si_pid)
            return;
        for (size_t i = 0; i < d.n; i++)
            ours |= d.hosts[i].pid == info.si_pid;
        for (size_t i = 0; i < d.n_commands; i++)
            ours |= d.commands[i].pid == info.si_pid;
        if (ours)
            return;
        (void)waitpid(info.si_pid, NULL, 0);
    }
}

_Noreturn static void serve(void)
{
    auto_free struct pollfd *polls = mem_zero((1 + d.n + COMMANDS_MAX) * sizeof(*polls));

    for (;;) {
        size_t commands = d.n_commands;

        polls[0] = (struct pollfd){.fd = d.spec->socket, .events = POLLIN};
        for (size_t i = 0; i < d.n; i++)
            polls[1 + i] = (struct pollfd){.fd = d.hosts[i].pidfd, .events = POLLIN};
        for (size_t i = 0; i < commands; i++)
            polls[1 + d.n + i] = (struct pollfd){.fd = d.commands[i].pidfd, .events = POLLIN};
        if (poll(polls, 1 + d.n + commands, -1) < 0)
            continue;
        for (size_t i = commands; i-- > 0;) /* the last first: an end moves the last one */
            if (polls[1 + d.n + i].revents)
                command_ended(i);
        for (size_t i = 0; i < d.n; i++)
            if (polls[1 + i].revents)
                host_ended(i);
        reap_strays();
        if (polls[0].revents)
            take_order();
    }
}

_Noreturn void rackd_run(const struct rackd_spec *spec)
{
    d.spec = spec;
    d.rack = spec->rack;
    d.n = spec->rack->n;
    become_rack();
    make_all();
    tell(&(struct rackd_event){.news = RACKD_UP});
    serve();
}
