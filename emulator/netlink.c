/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "emulator/netlink.h"

#include <assert.h>
#include <errno.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define NEW (NLM_F_CREATE | NLM_F_EXCL)

struct message {
    struct nlmsghdr head;
    unsigned char body[1024];
};

union answer {
    struct nlmsghdr head;
    unsigned char bytes[4096];
};

int netlink_open(void)
{
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

    return fd < 0 ? -errno : fd;
}

static void begin(struct message *m, uint16_t type, unsigned flags, const void *body, size_t n)
{
    memset(m, 0, sizeof(*m));
    m->head.nlmsg_len = NLMSG_LENGTH(n);
    m->head.nlmsg_type = type;
    m->head.nlmsg_flags = (uint16_t)(NLM_F_REQUEST | NLM_F_ACK | flags);
    memcpy(m->body, body, n);
}

/* Where an attribute begins; nest_end() needs it of one that holds others. */
static size_t add(struct message *m, uint16_t type, const void *data, size_t n)
{
    const struct rtattr head = {.rta_len = (uint16_t)RTA_LENGTH(n), .rta_type = type};
    size_t at = NLMSG_ALIGN(m->head.nlmsg_len);
    unsigned char *to = (unsigned char *)m + at;

    assert(at + RTA_SPACE(n) <= sizeof(*m));
    memcpy(to, &head, sizeof(head));
    if (n)
        memcpy(to + RTA_LENGTH(0), data, n);
    m->head.nlmsg_len = (uint32_t)(at + RTA_SPACE(n));
    return at;
}

static void nest_end(struct message *m, size_t at)
{
    uint16_t n = (uint16_t)(m->head.nlmsg_len - at);

    memcpy((unsigned char *)m + at + offsetof(struct rtattr, rta_len), &n, sizeof(n));
}

static int ask(int fd, const struct message *m)
{
    union answer a;
    struct nlmsgerr error;
    ssize_t n;

    if (send(fd, m, m->head.nlmsg_len, MSG_NOSIGNAL) < 0)
        return -errno;
    do {
        n = recv(fd, &a, sizeof(a), 0);
    } while (n < 0 && errno == EINTR);
    if (n < 0)
        return -errno;
    if ((size_t)n < NLMSG_LENGTH(sizeof(error)) || a.head.nlmsg_type != NLMSG_ERROR)
        return -EPROTO;
    memcpy(&error, a.bytes + NLMSG_HDRLEN, sizeof(error));
    return error.error;
}

int netlink_up(int fd, unsigned interface)
{
    const struct ifinfomsg body = {
        .ifi_index = (int)interface, .ifi_flags = IFF_UP, .ifi_change = IFF_UP};
    struct message m;

    begin(&m, RTM_NEWLINK, 0, &body, sizeof(body));
    return ask(fd, &m);
}

int netlink_pair(int fd, const char *name, const char *peer, int peer_ns,
                 const unsigned char mac[NETLINK_MAC])
{
    const struct ifinfomsg up = {.ifi_flags = IFF_UP, .ifi_change = IFF_UP};
    const struct ifinfomsg down = {0};
    struct message m;
    size_t info, data, end;

    begin(&m, RTM_NEWLINK, NEW, &up, sizeof(up));
    (void)add(&m, IFLA_IFNAME, name, strlen(name) + 1);
    info = add(&m, IFLA_LINKINFO, NULL, 0);
    (void)add(&m, IFLA_INFO_KIND, "veth", sizeof("veth") - 1);
    data = add(&m, IFLA_INFO_DATA, NULL, 0);
    end = add(&m, VETH_INFO_PEER, &down, sizeof(down));
    (void)add(&m, IFLA_IFNAME, peer, strlen(peer) + 1);
    (void)add(&m, IFLA_ADDRESS, mac, NETLINK_MAC);
    (void)add(&m, IFLA_NET_NS_FD, &peer_ns, sizeof(peer_ns));
    nest_end(&m, end);
    nest_end(&m, data);
    nest_end(&m, info);
    return ask(fd, &m);
}

static size_t address_size(int family)
{
    return family == AF_INET ? sizeof(struct in_addr) : sizeof(struct in6_addr);
}

int netlink_address(int fd, unsigned interface, int family, const void *address, unsigned prefix)
{
    const struct ifaddrmsg body = {
        .ifa_family = (uint8_t)family,
        .ifa_prefixlen = (uint8_t)prefix,
        .ifa_flags = family == AF_INET6 ? IFA_F_NODAD : 0, /* usable at once */
        .ifa_index = interface,
    };
    struct message m;

    begin(&m, RTM_NEWADDR, NEW, &body, sizeof(body));
    (void)add(&m, IFA_LOCAL, address, address_size(family));
    (void)add(&m, IFA_ADDRESS, address, address_size(family));
    if (family == AF_INET) {
        struct in_addr all;

        memcpy(&all, address, sizeof(all));
        all.s_addr |= htonl(UINT32_MAX >> prefix);
        (void)add(&m, IFA_BROADCAST, &all, sizeof(all));
    }
    return ask(fd, &m);
}

int netlink_neighbour(int fd, unsigned interface, int family, const void *address,
                      const unsigned char mac[NETLINK_MAC])
{
    const struct ndmsg body = {
        .ndm_family = (uint8_t)family, .ndm_ifindex = (int)interface, .ndm_state = NUD_PERMANENT};
    struct message m;

    begin(&m, RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE, &body, sizeof(body));
    (void)add(&m, NDA_DST, address, address_size(family));
    (void)add(&m, NDA_LLADDR, mac, NETLINK_MAC);
    return ask(fd, &m);
}
