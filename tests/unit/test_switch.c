/* SPDX-License-Identifier: Apache-2.0
 *
 * The switch between three pairs of interfaces in a network namespace of the test's own: it gets
 * the outer ends, the test sends and receives frames at the inner ones. */
#include "config.h"

#include "emulator/switch.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "procs.h"

#define HOSTS     3
#define TYPE      0x88B5 /* of frames in experiments */
#define ALL       SIZE_MAX
#define NOWHERE   200 /* a host that is not there */
#define LIMIT_S   60
#define DELAY_MS  40
#define LOTS      400
#define QUIET_MS  300
#define SOME_TEXT 32

static struct {
    const char *missing; /* why it cannot be tested here */
    unsigned outer[HOSTS];
    int inner[HOSTS];
    int control;
    pid_t pid;
} t;

/* ---- interfaces ---- */

struct request {
    struct nlmsghdr head;
    struct ifinfomsg link;
    char room[512];
};

static void *put(struct request *r, unsigned short type, const void *data, size_t n)
{
    struct rtattr *a = (struct rtattr *)((char *)r + NLMSG_ALIGN(r->head.nlmsg_len));

    a->rta_type = type;
    a->rta_len = (unsigned short)RTA_LENGTH(n);
    if (n)
        memcpy(RTA_DATA(a), data, n);
    r->head.nlmsg_len = (unsigned)(NLMSG_ALIGN(r->head.nlmsg_len) + RTA_ALIGN(a->rta_len));
    return a;
}

static void end(struct request *r, struct rtattr *a)
{
    a->rta_len = (unsigned short)((char *)r + r->head.nlmsg_len - (char *)a);
}

static int talk(struct request *r)
{
    auto_fd int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    struct {
        struct nlmsghdr head;
        struct nlmsgerr error;
        char rest[512];
    } answer;

    r->head.nlmsg_flags |= NLM_F_REQUEST | NLM_F_ACK;
    if (fd < 0 || send(fd, r, r->head.nlmsg_len, 0) < 0 ||
        recv(fd, &answer, sizeof(answer), 0) < (ssize_t)NLMSG_LENGTH(sizeof(answer.error)))
        return -errno;
    return answer.error.error;
}

static int make_pair(int i)
{
    struct request r = {
        .head = {.nlmsg_len = NLMSG_LENGTH(sizeof(r.link)),
                 .nlmsg_type = RTM_NEWLINK,
                 .nlmsg_flags = NLM_F_CREATE | NLM_F_EXCL}
    };
    char outer[] = "v0", inner[] = "e0";
    struct ifinfomsg none = {0};
    struct rtattr *info, *data, *peer;

    outer[1] = inner[1] = (char)('1' + i);
    (void)put(&r, IFLA_IFNAME, outer, sizeof(outer));
    info = put(&r, IFLA_LINKINFO, NULL, 0);
    (void)put(&r, IFLA_INFO_KIND, "veth", sizeof("veth"));
    data = put(&r, IFLA_INFO_DATA, NULL, 0);
    peer = put(&r, VETH_INFO_PEER, &none, sizeof(none));
    (void)put(&r, IFLA_IFNAME, inner, sizeof(inner));
    end(&r, peer);
    end(&r, data);
    end(&r, info);
    return talk(&r);
}

static int change(unsigned interface, unsigned short type, unsigned flags)
{
    struct request r = {
        .head = {.nlmsg_len = NLMSG_LENGTH(sizeof(r.link)), .nlmsg_type = type  },
        .link = { .ifi_index = (int)interface,                       .ifi_flags = flags, .ifi_change = IFF_UP}
    };

    return talk(&r);
}

static int open_inner(unsigned interface)
{
    struct sockaddr_ll address = {
        .sll_family = AF_PACKET, .sll_protocol = htons(TYPE), .sll_ifindex = (int)interface};
    int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

static int wire(void **state)
{
    char name[] = "e0";

    (void)state;
    (void)alarm(LIMIT_S);
    if (unshare(geteuid() ? CLONE_NEWUSER | CLONE_NEWNET : CLONE_NEWNET) < 0) {
        t.missing = "no network namespace can be made here";
        return 0;
    }
    for (int i = 0; i < HOSTS; i++) {
        if (make_pair(i)) {
            t.missing = "no pair of interfaces can be made here";
            return 0;
        }
        name[1] = (char)('1' + i);
        name[0] = 'v';
        t.outer[i] = if_nametoindex(name);
        name[0] = 'e';
        assert_int_equal(change(t.outer[i], RTM_NEWLINK, IFF_UP), 0);
        assert_int_equal(change(if_nametoindex(name), RTM_NEWLINK, IFF_UP), 0);
        t.inner[i] = open_inner(if_nametoindex(name));
    }
    return 0;
}

/* ---- the switch ---- */

static int start_switch(void **state)
{
    int ends[2];
    char up = 0;

    (void)state;
    if (t.missing)
        return 0;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    t.pid = fork();
    assert_true(t.pid >= 0);
    if (t.pid == 0) {
        (void)close(ends[0]);
        switch_run(t.outer, HOSTS, ends[1]);
    }
    (void)close(ends[1]);
    t.control = ends[0];
    up = read_byte(t.control);
    assert_int_equal(up, 'u');
    return 0;
}

static int end_switch(void **state)
{
    (void)state;
    if (t.missing)
        return 0;
    (void)close(t.control);
    assert_exits(t.pid, 0);
    return 0;
}

static void rule(size_t from, size_t to, unsigned cut, unsigned delay_ms, double loss)
{
    struct switch_rule r = {from, to, cut, delay_ms, loss};

    assert_int_equal(send(t.control, &r, sizeof(r), 0), sizeof(r));
}

/* From host `from` to host number `to` (ALL: a broadcast). */
static void say(int from, size_t to, const char *text)
{
    unsigned char frame[ETH_HLEN + SOME_TEXT] = {0};

    memset(frame, 0xff, ETH_ALEN);
    if (to != ALL)
        memcpy(frame, (unsigned char[]){0x02, 0x66, 0, 0, 0, (unsigned char)(to + 1)}, ETH_ALEN);
    frame[ETH_ALEN] = 0x02;
    frame[ETH_HLEN - 2] = TYPE >> 8;
    frame[ETH_HLEN - 1] = TYPE & 0xff;
    memcpy(frame + ETH_HLEN, text, strlen(text));
    assert_int_equal(send(t.inner[from], frame, sizeof(frame), 0), sizeof(frame));
}

static bool hear(int host, int limit_ms, char *text)
{
    unsigned char frame[ETH_HLEN + SOME_TEXT];
    struct pollfd p = {.fd = t.inner[host], .events = POLLIN};

    if (poll(&p, 1, limit_ms) != 1)
        return false;
    assert_int_equal(recv(p.fd, frame, sizeof(frame), 0), sizeof(frame));
    memcpy(text, frame + ETH_HLEN, SOME_TEXT);
    return true;
}

/* The next frame that comes to `host` is this one. */
#define assert_hears(host, want)                                                                   \
    do {                                                                                           \
        char text_[SOME_TEXT] = "";                                                                \
        assert_true(hear(host, PROCS_LIMIT_MS, text_));                                            \
        assert_string_equal(text_, want);                                                          \
    } while (0)

/* Rules go another way than frames: one that says it is there is awaited. */
static void settle(int from, int to, bool reaches)
{
    uint64_t limit = clock_ms() + PROCS_LIMIT_MS;
    char text[SOME_TEXT];

    do {
        say(from, (size_t)to, "settled?");
        assert_true(clock_ms() < limit);
    } while (hear(to, QUIET_MS, text) != reaches);
    while (hear(to, 0, text))
        ;
}

#define needs_namespace()                                                                          \
    do {                                                                                           \
        if (t.missing) {                                                                           \
            print_message("%s\n", t.missing);                                                      \
            skip();                                                                                \
        }                                                                                          \
    } while (0)

static void test_frames_find_their_host_and_nobody_else(void **state)
{
    (void)state;
    needs_namespace();
    say(0, 1, "one to two");
    say(0, 0, "to itself");
    say(0, NOWHERE, "to nobody");
    say(0, ALL, "to all");
    assert_hears(1, "one to two");
    assert_hears(1, "to all");
    assert_hears(2, "to all");
    say(2, 0, "three to one");
    assert_hears(0, "three to one");
}

static void test_a_cut_is_one_way_and_heals(void **state)
{
    (void)state;
    needs_namespace();
    rule(0, 1, 1, 0, 0);
    settle(0, 1, false);
    say(0, 2, "still there");
    assert_hears(2, "still there");
    say(1, 0, "the other way");
    assert_hears(0, "the other way");
    rule(0, 1, 0, 0, 0);
    settle(0, 1, true);
}

static void test_a_host_is_cut_off_from_all(void **state)
{
    (void)state;
    needs_namespace();
    rule(1, ALL, 1, 0, 0);
    rule(ALL, 1, 1, 0, 0);
    settle(0, 1, false);
    say(1, ALL, "lost");
    say(0, ALL, "to the others");
    assert_hears(2, "to the others");
}

static void test_delayed_frames_come_late_and_in_order(void **state)
{
    (void)state;
    needs_namespace();
    uint64_t sent;

    rule(0, 1, 0, DELAY_MS, 0);
    rule(0, 2, 0, 2 * DELAY_MS, 0);
    rule(2, ALL, 1, 0, 0);
    settle(2, 1, false); /* the rules before are there, too */
    sent = clock_ms();
    say(0, 2, "slowest");
    say(0, 1, "first");
    say(0, 1, "second");
    assert_hears(1, "first");
    assert_true(clock_ms() - sent >= DELAY_MS);
    assert_hears(1, "second");
    assert_hears(2, "slowest");
    assert_true(clock_ms() - sent >= (uint64_t)2 * DELAY_MS);
}

static void test_a_share_of_frames_is_lost(void **state)
{
    (void)state;
    needs_namespace();
    char text[SOME_TEXT];
    int came = 0;

    rule(0, 1, 0, 0, 0.3);
    rule(2, ALL, 1, 0, 0);
    settle(2, 1, false);
    for (int i = 0; i < LOTS; i++) {
        say(0, 1, "try");
        say(0, 2, "mark");
        assert_hears(2, "mark");
        while (hear(1, 0, text))
            came++;
    }
    assert_in_range(came, LOTS / 2, LOTS * 9 / 10);
    rule(0, 1, 0, 0, 1);
    settle(0, 1, false);
}

/* The last one: its interfaces do not come back. */
static void test_a_host_that_goes_costs_nothing(void **state)
{
    (void)state;
    needs_namespace();
    struct rusage used;
    int status;
    char text[SOME_TEXT];

    rule(2, 1, 0, DELAY_MS, 0);
    settle(2, 1, true);
    say(2, 1, "on its way");
    assert_int_equal(change(t.outer[2], RTM_NEWLINK, 0), 0);
    say(0, ALL, "while it is down");
    assert_hears(1, "while it is down");
    assert_hears(1, "on its way");
    assert_int_equal(change(t.outer[2], RTM_DELLINK, 0), 0);
    assert_false(hear(1, QUIET_MS, text));
    say(0, ALL, "the others go on");
    assert_hears(1, "the others go on");
    (void)close(t.control);
    assert_int_equal(wait4(t.pid, &status, 0, &used), t.pid);
    assert_int_equal(status, 0);
    /* a loop would have been busy for all of the quiet time; what else it does takes a few ms */
    assert_int_equal(used.ru_utime.tv_sec + used.ru_stime.tv_sec, 0);
    assert_in_range(used.ru_utime.tv_usec + used.ru_stime.tv_usec, 0, QUIET_MS * 1000);
}

static void test_what_it_cannot_open_is_told(void **state)
{
    (void)state;
    needs_namespace();
    unsigned none[] = {0x7ffffff0};
    int ends[2], code = 0;
    pid_t pid;

    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    pid = fork();
    if (pid == 0) {
        (void)close(ends[0]);
        switch_run(none, 1, ends[1]);
    }
    (void)close(ends[1]);
    assert_exits(pid, 1);
    assert_int_equal(recv(ends[0], &code, sizeof(code), 0), sizeof(code));
    assert_int_equal(code, -ENODEV);
    (void)close(ends[0]);
}

#define with_switch(test) cmocka_unit_test_setup_teardown(test, start_switch, end_switch)

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_switch(test_frames_find_their_host_and_nobody_else),
        with_switch(test_a_cut_is_one_way_and_heals),
        with_switch(test_a_host_is_cut_off_from_all),
        with_switch(test_delayed_frames_come_late_and_in_order),
        with_switch(test_a_share_of_frames_is_lost),
        cmocka_unit_test(test_what_it_cannot_open_is_told),
        cmocka_unit_test_setup(test_a_host_that_goes_costs_nothing, start_switch),
    };

    return cmocka_run_group_tests(tests, wire, NULL);
}
