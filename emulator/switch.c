/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "emulator/switch.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"

#define FRAME_MAX  70000      /* with segments that the card would split */
#define BURST      32         /* frames of one host before the others get their turn */
#define BUFFER     (4 << 20)  /* bytes of a socket's queue */
#define LATE_MAX   (64 << 20) /* bytes of frames that are on their way for longer; more are lost */
#define EVENTS     64
#define HEADER     (sizeof(struct virtio_net_hdr))
#define TIMER      UINT32_MAX
#define CONTROL    (UINT32_MAX - 1)
#define NS_PER_SEC 1000000000LL

struct road {
    bool cut;
    unsigned delay_ms;
    double loss;
};

struct late {
    struct late *next;
    int64_t due_ns;
    size_t to, n;
    unsigned char frame[];
};

static struct {
    size_t n;
    int *ports;         /* of the hosts; -1: gone */
    struct road *roads; /* from * n + to */
    int epoll, timer, control;
    struct late *first, *last; /* the order of their times */
    size_t late_bytes;
    uint64_t random;
} sw;

static int64_t now_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * NS_PER_SEC + now.tv_nsec;
}

/* 0 to 1; the same at each start, so that a run can be repeated. */
static double random_share(void)
{
    sw.random ^= sw.random << 13;
    sw.random ^= sw.random >> 7;
    sw.random ^= sw.random << 17;
    return (double)(sw.random >> 11) / (double)(1ULL << 53);
}

/* ---- frames -------------------------------------------------------------------------------- */

static void deliver(size_t to, const unsigned char *frame, size_t n)
{
    if (sw.ports[to] >= 0)
        (void)send(sw.ports[to], frame, n, MSG_DONTWAIT | MSG_NOSIGNAL); /* full: it is lost */
}

static void arm(void)
{
    int64_t left = sw.first ? sw.first->due_ns - now_ns() : 0;
    struct itimerspec when = {0};

    if (sw.first) {
        left = left > 1000 ? left : 1000;
        when.it_value.tv_sec = left / NS_PER_SEC;
        when.it_value.tv_nsec = left % NS_PER_SEC;
    }
    (void)timerfd_settime(sw.timer, 0, &when, NULL);
}

static void keep(size_t to, const unsigned char *frame, size_t n, unsigned delay_ms)
{
    struct late *l, **at = &sw.first;

    if (sw.late_bytes + n > LATE_MAX)
        return;
    l = mem_zero(sizeof(*l) + n);
    l->due_ns = now_ns() + delay_ms * 1000000LL;
    l->to = to;
    l->n = n;
    memcpy(l->frame, frame, n);
    sw.late_bytes += n;
    if (sw.last && sw.last->due_ns <= l->due_ns) /* the usual case: all are late alike */
        at = &sw.last->next;
    while (*at && (*at)->due_ns <= l->due_ns)
        at = &(*at)->next;
    l->next = *at;
    *at = l;
    if (!l->next)
        sw.last = l;
    if (sw.first == l)
        arm();
}

static void deliver_late(void)
{
    int64_t now = now_ns();

    while (sw.first && sw.first->due_ns <= now) {
        struct late *l = sw.first;

        sw.first = l->next;
        if (!sw.first)
            sw.last = NULL;
        deliver(l->to, l->frame, l->n);
        sw.late_bytes -= l->n;
        free(l);
    }
    arm();
}

static void carry(size_t from, size_t to, const unsigned char *frame, size_t n)
{
    const struct road *road;

    if (to >= sw.n || to == from)
        return;
    road = &sw.roads[from * sw.n + to];
    if (road->cut || (road->loss > 0 && random_share() < road->loss))
        return;
    if (road->delay_ms)
        keep(to, frame, n, road->delay_ms);
    else
        deliver(to, frame, n);
}

/* To one host by its address, 02:66:00:00:HI:LO of its number; to all where it is a group's. */
static void route(size_t from, const unsigned char *frame, size_t n)
{
    const unsigned char *mac = frame + HEADER;

    if (n < HEADER + ETH_HLEN)
        return;
    if (mac[0] & 1) {
        for (size_t to = 0; to < sw.n; to++)
            carry(from, to, frame, n);
    } else if (mac[0] == 0x02 && mac[1] == 0x66) {
        carry(from, ((size_t)mac[4] << 8 | mac[5]) - 1, frame, n);
    }
}

static void close_port(size_t host)
{
    (void)close(sw.ports[host]);
    sw.ports[host] = -1;
}

static void receive(size_t host)
{
    static unsigned char frame[FRAME_MAX];

    for (int i = 0; i < BURST && sw.ports[host] >= 0; i++) {
        ssize_t n = recv(sw.ports[host], frame, sizeof(frame), MSG_DONTWAIT);

        if (n >= 0)
            route(host, frame, (size_t)n);
        else if (errno == ENETDOWN || errno == EINTR)
            continue; /* once, when the host's end goes down or away */
        else if (errno != EAGAIN)
            close_port(host);
        else
            return;
    }
}

/* ---- rules --------------------------------------------------------------------------------- */

static void set_road(struct road *road, const struct switch_rule *rule)
{
    if (!rule->cut && !rule->delay_ms && rule->loss <= 0)
        *road = (struct road){0};
    road->cut |= rule->cut != 0;
    if (rule->delay_ms)
        road->delay_ms = rule->delay_ms;
    if (rule->loss > 0)
        road->loss = rule->loss;
}

static void apply(const struct switch_rule *rule)
{
    for (size_t from = 0; from < sw.n; from++)
        for (size_t to = 0; to < sw.n; to++)
            if ((rule->from == SIZE_MAX || rule->from == from) &&
                (rule->to == SIZE_MAX || rule->to == to))
                set_road(&sw.roads[from * sw.n + to], rule);
}

static void take_rules(void)
{
    struct switch_rule rule;
    ssize_t n;

    while ((n = recv(sw.control, &rule, sizeof(rule), MSG_DONTWAIT)) == (ssize_t)sizeof(rule))
        apply(&rule);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        _exit(0); /* the rack has gone */
}

/* ---- the whole ----------------------------------------------------------------------------- */

static int watch(int fd, uint32_t id)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = id};

    return fd < 0 || epoll_ctl(sw.epoll, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

/* The offloads' header keeps segments and checksums that no card has made yet. */
static int open_port(unsigned interface)
{
    const struct sockaddr_ll address = {
        .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL), .sll_ifindex = (int)interface};
    int fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int on = 1, size = BUFFER;

    if (fd < 0 || setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &on, sizeof(on)) < 0 ||
        setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof(on)) < 0)
        return -errno;
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
    return bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ? -errno : fd;
}

static int open_all(const unsigned *interfaces)
{
    int rc;

    sw.epoll = epoll_create1(EPOLL_CLOEXEC);
    sw.timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (sw.epoll < 0)
        return -errno;
    rc = watch(sw.timer, TIMER);
    if (!rc)
        rc = watch(sw.control, CONTROL);
    for (size_t i = 0; i < sw.n && !rc; i++) {
        sw.ports[i] = open_port(interfaces[i]);
        rc = sw.ports[i] < 0 ? sw.ports[i] : watch(sw.ports[i], (uint32_t)i);
    }
    return rc;
}

static void dispatch(uint32_t id)
{
    uint64_t times;

    if (id == TIMER) {
        (void)!read(sw.timer, &times, sizeof(times));
        deliver_late();
    } else if (id == CONTROL) {
        take_rules();
    } else {
        receive(id);
    }
}

_Noreturn void switch_run(const unsigned *interfaces, size_t n, int control)
{
    struct epoll_event events[EVENTS];
    int rc;

    sw.n = n;
    sw.control = control;
    sw.random = 88172645463325252ULL;
    sw.ports = mem_zero(n * sizeof(*sw.ports));
    sw.roads = mem_zero(n * n * sizeof(*sw.roads));
    (void)prctl(PR_SET_TIMERSLACK, 1UL);
    rc = open_all(interfaces);
    if (rc < 0) {
        (void)send(control, &rc, sizeof(rc), MSG_NOSIGNAL);
        _exit(1);
    }
    if (send(control, "u", 1, MSG_NOSIGNAL) != 1)
        _exit(1);
    for (;;) {
        int found = epoll_wait(sw.epoll, events, EVENTS, -1);

        for (int i = 0; i < found; i++)
            dispatch(events[i].data.u32);
        if (found < 0 && errno != EINTR)
            _exit(1);
    }
}
