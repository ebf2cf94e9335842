/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "emulator/netlink.h"

#include <errno.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BODY_SIZE 1024

struct request {
    struct nlmsghdr header;
    char body[BODY_SIZE];
};

int netlink_open(void)
{
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

    return fd < 0 ? -errno : fd;
}

static void *begin(struct request *r, int type, int flags, size_t size)
{
    memset(r, 0, sizeof(*r));
    r->header.nlmsg_len = (uint32_t)NLMSG_LENGTH(size);
    r->header.nlmsg_type = (uint16_t)type;
    r->header.nlmsg_flags = (uint16_t)(NLM_F_REQUEST | NLM_F_ACK | flags);
    return NLMSG_DATA(&r->header);
}

static struct rtattr *add(struct request *r, int type, const void *data, size_t n)
{
    struct rtattr *a = (struct rtattr *)(void *)((char *)r + NLMSG_ALIGN(r->header.nlmsg_len));

    a->rta_type = (unsigned short)type;
    a->rta_len = (unsigned short)RTA_LENGTH(n);
    if (n)
        memcpy(RTA_DATA(a), data, n);
    r->header.nlmsg_len = (uint32_t)(NLMSG_ALIGN(r->header.nlmsg_len) + RTA_ALIGN(a->rta_len));
    return a;
}

/* The attribute holds all that was added since. */
static void end(struct request *r, struct rtattr *a)
{
    a->rta_len = (unsigned short)((char *)r + r->header.nlmsg_len - (char *)a);
}

static int ask(int netlink, const struct request *r)
{
    union {
        struct nlmsghdr header;
        char bytes[8192];
    } answer;
    ssize_t n;

    if (send(netlink, r, r->header.nlmsg_len, 0) < 0)
        return -errno;
    n = recv(netlink, &answer, sizeof(answer), 0);
    if (n < 0)
        return -errno;
    if (answer.header.nlmsg_type != NLMSG_ERROR)
        return 0;
    return ((struct nlmsgerr *)NLMSG_DATA(&answer.header))->error;
}

int netlink_up(int netlink, unsigned interface)
{
    struct request r;
    struct ifinfomsg *i = begin(&r, RTM_NEWLINK, 0, sizeof(*i));

    i->ifi_index = (int)interface;
    i->ifi_flags = i->ifi_change = IFF_UP;
    return ask(netlink, &r);
}

/* The peer must not be up at its birth: it would look for an end that is not there yet. */
int netlink_veth(int netlink, const char *name, const char *peer, const uint8_t mac[6], int where)
{
    struct request r;
    struct ifinfomsg *i = begin(&r, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, sizeof(*i));
    const struct ifinfomsg none = {0};
    struct rtattr *info, *data, *other;

    i->ifi_flags = i->ifi_change = IFF_UP;
    (void)add(&r, IFLA_IFNAME, name, strlen(name) + 1);
    info = add(&r, IFLA_LINKINFO, NULL, 0);
    (void)add(&r, IFLA_INFO_KIND, "veth", 4);
    data = add(&r, IFLA_INFO_DATA, NULL, 0);
    other = add(&r, VETH_INFO_PEER, &none, sizeof(none));
    (void)add(&r, IFLA_IFNAME, peer, strlen(peer) + 1);
    (void)add(&r, IFLA_ADDRESS, mac, 6);
    (void)add(&r, IFLA_NET_NS_FD, &where, sizeof(where));
    end(&r, other);
    end(&r, data);
    end(&r, info);
    return ask(netlink, &r);
}

static int add_address(int netlink, unsigned interface, int family, const void *address,
                       size_t size, unsigned bits, unsigned char flags)
{
    struct request r;
    struct ifaddrmsg *a = begin(&r, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, sizeof(*a));

    a->ifa_family = (unsigned char)family;
    a->ifa_prefixlen = (unsigned char)bits;
    a->ifa_index = interface;
    a->ifa_flags = flags;
    (void)add(&r, IFA_LOCAL, address, size);
    (void)add(&r, IFA_ADDRESS, address, size);
    return ask(netlink, &r);
}

int netlink_address4(int netlink, unsigned interface, struct in_addr address, unsigned bits)
{
    return add_address(netlink, interface, AF_INET, &address, sizeof(address), bits, 0);
}

int netlink_address6(int netlink, unsigned interface, const struct in6_addr *address, unsigned bits)
{
    return add_address(netlink, interface, AF_INET6, address, sizeof(*address), bits, IFA_F_NODAD);
}

int netlink_neighbour(int netlink, unsigned interface, int family, const void *address,
                      const uint8_t mac[6])
{
    struct request r;
    struct ndmsg *n = begin(&r, RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE, sizeof(*n));

    n->ndm_family = (unsigned char)family;
    n->ndm_ifindex = (int)interface;
    n->ndm_state = NUD_PERMANENT;
    (void)add(&r, NDA_DST, address,
              family == AF_INET ? sizeof(struct in_addr) : sizeof(struct in6_addr));
    (void)add(&r, NDA_LLADDR, mac, 6);
    return ask(netlink, &r);
}
