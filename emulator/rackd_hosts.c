/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "emulator/rackd_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "emulator/cgroups.h"
#include "emulator/host.h"
#include "emulator/hostnames.h"
#include "emulator/mounts.h"
#include "emulator/namespaces.h"
#include "emulator/netlink.h"
#include "emulator/switch.h"

/* That of the control groups a host enters by itself, when it is in its own. */
#define HOST_NAMESPACES (CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWIPC)

static int settle(const struct rack_process *rack, struct err *err)
{
    bool maps = rack->in.mode != RACK_ROOT;

    if (maps && (setresgid(0, 0, 0) < 0 || setresuid(0, 0, 0) < 0))
        return err_set(err, BLAME_PLATFORM, -errno, "uid 0 of a user namespace: %s",
                       strerror(errno));
    if (rack->in.mode == RACK_RANGE)
        (void)syscall(SYS_setgroups, 0, NULL);
    /* After the change of uid, which takes it away. */
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)setsid(); /* Ctrl-C is the caller's */
    if (chdir("/") < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        return err_set(err, BLAME_PLATFORM, -errno, "make / private: %s", strerror(errno));
    return mounts_kernel("proc", "/proc", NULL, err);
}

/* ---- the hosts ---- */

/* Its limit, if it has one, before it does anything. */
static int group(struct rack_process *rack, size_t i, struct err *err)
{
    long mib = rack->in.spec->hosts[i].memory_mib;
    int rc;

    if (!mib)
        return 0;
    if (cgroups_limit(rack->in.groups, i, mib, err))
        return err->code;
    rc = cgroups_enter(rack->in.groups, i, rack->hosts[i].pid);
    return rc ? err_set(err, BLAME_PLATFORM, -EOPNOTSUPP,
                        "memory limits need a control group that hosts may be put into: %s",
                        strerror(-rc))
              : 0;
}

static int spawn(struct rack_process *rack, size_t i, const int output[2], struct err *err)
{
    struct rackd_member *m = &rack->hosts[i];
    int line[2];
    int group_folder = cgroups_folder(rack->in.groups, i);

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, line) < 0)
        return err_set(err, BLAME_PLATFORM, -errno, "socket: %s", strerror(errno));
    m->pid = ns_clone(HOST_NAMESPACES, &m->pidfd, group_folder);
    if (m->pid < 0 && group_folder >= 0 && !rack->in.spec->hosts[i].memory_mib)
        m->pid = ns_clone(HOST_NAMESPACES, &m->pidfd, -1);
    if (m->pid == 0) {
        struct host_part part = {
            &rack->in, i, line[1], {output[0], output[1]}
        };

        host_run(&part);
    }
    m->line = line[0];
    (void)close(line[1]);
    return m->pid > 0
               ? 0
               : err_set(err, BLAME_PLATFORM, -errno, "namespaces of a host: %s", strerror(errno));
}

static int say(const struct rack_process *rack, size_t i, const char *word, struct err *err)
{
    if (send(rack->hosts[i].line, word, 1, MSG_NOSIGNAL) == 1)
        return 0;
    return err_set(err, BLAME_PLATFORM, -errno, "%s: its first process has ended",
                   rack->in.spec->hosts[i].name);
}

/* With its output: the caller has the ends to read from. */
static int add_host(struct rack_process *rack, size_t i, struct err *err)
{
    const struct rackd_message m = {.word = RACKD_HOST, .host = i};
    int out[2] = {-1, -1}, errors[2] = {-1, -1};
    int rc;

    if (pipe2(out, O_CLOEXEC) < 0 || pipe2(errors, O_CLOEXEC) < 0)
        rc = err_set(err, BLAME_PLATFORM, -errno, "pipe: %s", strerror(errno));
    else
        rc = spawn(rack, i, (const int[]){out[1], errors[1]}, err) || group(rack, i, err) ||
             say(rack, i, HOST_ENTER, err);
    if (!rc) {
        const struct rackd_fds fds = {
            .fd = {out[0], errors[0]},
              .n = 2
        };

        rc = rackd_send(rack->in.control, &m, &fds);
        if (rc)
            (void)err_set(err, BLAME_SELF, rc, "the caller does not answer: %s", strerror(-rc));
    }
    for (int k = 0; k < 2; k++) {
        cleanup_fd(&out[k]);
        cleanup_fd(&errors[k]);
    }
    return rc;
}

static int wire(const struct rack_process *rack, size_t i, int netlink, struct err *err)
{
    auto_free char *path = mem_printf("/proc/%d/ns/net", (int)rack->hosts[i].pid);
    auto_free char *name = mem_printf("v%zu", i + 1);
    auto_fd int ns = open(path, O_RDONLY | O_CLOEXEC);
    unsigned char mac[NETLINK_MAC];
    int rc;

    hostnames_mac(i, mac);
    rc = ns < 0 ? -errno : netlink_pair(netlink, name, HOST_NIC, ns, mac);
    if (rc)
        return err_set(err, BLAME_PLATFORM, rc, "veth pair: %s", strerror(-rc));
    return say(rack, i, HOST_WIRED, err);
}

/* Each says how far it came. */
static int await(struct rack_process *rack, size_t i, struct err *err)
{
    struct rackd_message m = {.word = RACKD_FAILED};
    struct rackd_fds fds = {.n = 0};

    if (rackd_receive(rack->hosts[i].line, &m, &fds) != 1)
        return err_set(err, BLAME_PLATFORM, -EPIPE, "%s: its first process has ended",
                       rack->in.spec->hosts[i].name);
    if (fds.n)
        rack->hosts[i].output = fds.fd[0];
    if (!m.err.code)
        return 0;
    *err = m.err;
    return err_wrap(err, "%s", rack->in.spec->hosts[i].name);
}

static int start_network(struct rack_process *rack, struct err *err)
{
    unsigned *interfaces = mem_zero(rack->n * sizeof(*interfaces));

    for (size_t i = 0; i < rack->n; i++) {
        auto_free char *name = mem_printf("v%zu", i + 1);

        interfaces[i] = if_nametoindex(name);
    }
    rack->network = ns_clone(0, NULL, -1);
    if (rack->network == 0) {
        int keep[] = {rack->in.switch_rules};

        ns_keep_fds(keep, LENGTH(keep));
        ns_reset_signals();
        switch_run(interfaces, rack->n, rack->in.switch_rules);
    }
    free(interfaces);
    (void)close(rack->in.switch_rules);
    return rack->network < 0 ? err_set(err, BLAME_PLATFORM, -errno, "fork: %s", strerror(errno))
                             : 0;
}

int rackd_make_hosts(struct rack_process *rack, struct err *err)
{
    auto_fd int netlink = -1;
    int rc;

    if (settle(rack, err))
        return err->code;
    cgroups_prepare(rack->in.groups);
    netlink = netlink_open();
    rc = netlink < 0 ? netlink : netlink_up(netlink, if_nametoindex("lo"));
    if (rc)
        return err_set(err, BLAME_PLATFORM, rc, "network: %s", strerror(-rc));
    for (size_t i = 0; i < rack->n; i++)
        if (add_host(rack, i, err))
            return err->code;
    for (size_t i = 0; i < rack->n; i++)
        if (wire(rack, i, netlink, err))
            return err->code;
    if (start_network(rack, err))
        return err->code;
    for (size_t i = 0; i < rack->n; i++)
        if (await(rack, i, err))
            return err->code;
    return 0;
}
