/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "emulator/host.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/files.h"
#include "base/strv.h"
#include "emulator/hostfs.h"
#include "emulator/hostnames.h"
#include "emulator/namespaces.h"
#include "emulator/netlink.h"
#include "emulator/rackd.h"

#define CANNOT_START 127 /* exit status, as a shell has it */

static const struct rack_host *spec_of(const struct host_part *p)
{
    return &p->rack->spec->hosts[p->host];
}

/* The rack's word, in its order; anything else is its end. */
static void await(const struct host_part *p, const char *word)
{
    char c = 0;
    ssize_t n;

    do {
        n = recv(p->line, &c, 1, 0);
    } while (n < 0 && errno == EINTR);
    if (n != 1 || c != *word)
        _exit(CANNOT_START);
}

/* With the descriptor `fd`, if there is one. */
static void report(const struct host_part *p, const struct err *err, int fd)
{
    struct rackd_message m = {.word = RACKD_FAILED, .host = p->host, .err = *err};
    const struct rackd_fds fds = {.fd = {fd}, .n = fd >= 0};

    if (rackd_send(p->line, &m, &fds) < 0)
        _exit(CANNOT_START);
}

/* ---- network ---- */

static int give_address(const struct host_part *p, int fd, unsigned nic)
{
    const struct in_addr v4 = hostnames_v4(p->host);
    const struct in6_addr v6 = hostnames_v6(p->host);
    int rc = netlink_address(fd, nic, AF_INET, &v4, HOSTNAMES_PREFIX_V4);

    if (!rc && p->rack->spec->ipv6)
        rc = netlink_address(fd, nic, AF_INET6, &v6, HOSTNAMES_PREFIX_V6);
    return rc;
}

static int know(const struct host_part *p, int fd, unsigned nic, size_t other)
{
    const struct in_addr v4 = hostnames_v4(other);
    const struct in6_addr v6 = hostnames_v6(other);
    unsigned char mac[NETLINK_MAC];
    int rc;

    hostnames_mac(other, mac);
    rc = netlink_neighbour(fd, nic, AF_INET, &v4, mac);
    if (!rc && p->rack->spec->ipv6)
        rc = netlink_neighbour(fd, nic, AF_INET6, &v6, mac);
    return rc;
}

static int set_up_network(const struct host_part *p, struct err *err)
{
    auto_fd int fd = netlink_open();
    unsigned nic = if_nametoindex(HOST_NIC);
    int rc;

    if (!p->rack->spec->ipv6)
        (void)file_write("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1", 1);
    rc = fd < 0 ? fd : netlink_up(fd, if_nametoindex("lo"));
    if (!rc)
        rc = netlink_up(fd, nic);
    if (!rc)
        rc = give_address(p, fd, nic);
    for (size_t i = 0; i < p->rack->spec->n && !rc; i++)
        if (i != p->host)
            rc = know(p, fd, nic, i);
    return rc ? err_set(err, BLAME_PLATFORM, rc, "network: %s", strerror(-rc)) : 0;
}

/* ---- start ---- */

void host_environment(const struct rackd *rack, size_t host, char *const *env, struct strv *out)
{
    const struct {
        const char *name, *value;
    } usual[] = {
        {"PATH",     "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
        {"HOME",     "/root"                                                       },
        {"HOSTNAME", rack->spec->hosts[host].name                                  },
    };

    if (!env || !*env)
        env = rack->spec->hosts[host].env;
    for (; env && *env; env++)
        strv_add(out, *env);
    for (size_t i = 0; i < LENGTH(usual); i++)
        if (!strv_env(out, usual[i].name))
            strv_env_set(out, usual[i].name, usual[i].value);
}

_Noreturn static void become_daemon(const struct host_part *p)
{
    auto_strv struct strv env = {0};
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    const int fds[] = {null, p->output[0], p->output[1]};

    host_environment(p->rack, p->host, NULL, &env);
    for (int i = 0; i < 3; i++)
        if (dup2(fds[i], i) < 0)
            _exit(CANNOT_START);
    (void)ns_drop_power();
    (void)execve(p->rack->daemon, p->rack->spec->argv, strv_list(&env));
    (void)dprintf(STDERR_FILENO, "serry: %s: %s\n", p->rack->daemon, strerror(errno));
    _exit(CANNOT_START);
}

static int set_up(const struct host_part *p, int *output, struct err *err)
{
    const struct rack_host *h = spec_of(p);
    const struct hostfs fs = {.name = h->name,
                              .base = h->base,
                              .hosts = p->rack->hosts,
                              .hide = p->rack->hide,
                              .daemon = p->rack->daemon,
                              .gpus = h->gpus,
                              .disk_mib = h->disk_mib,
                              .rootless = p->rack->mode != RACK_ROOT,
                              .single = p->rack->mode == RACK_SINGLE};

    if (sethostname(h->name, strlen(h->name)) < 0)
        return err_set(err, BLAME_PLATFORM, -errno, "sethostname: %s", strerror(errno));
    /* Only now: the namespace shows the group that its maker is in as the root. */
    if (unshare(CLONE_NEWCGROUP) < 0)
        return err_set(err, BLAME_PLATFORM, -errno, "control group namespace: %s", strerror(errno));
    if (hostfs_enter(&fs, output, err))
        return err->code;
    await(p, HOST_WIRED);
    return set_up_network(p, err) || hostfs_seal(err) ? err->code : 0;
}

_Noreturn void host_run(struct host_part *p)
{
    int keep[] = {p->line, p->output[0], p->output[1]};
    struct err err = ERR_INIT;
    int output = -1;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    ns_keep_fds(keep, LENGTH(keep));
    ns_reset_signals();
    (void)setsid();
    (void)umask(022);
    await(p, HOST_ENTER);
    (void)set_up(p, &output, &err);
    report(p, &err, output);
    cleanup_fd(&output);
    await(p, HOST_START);
    become_daemon(p);
}
