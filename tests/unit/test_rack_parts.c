/* SPDX-License-Identifier: Apache-2.0
 *
 * What a rack is made of and can be looked at without namespaces. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/files.h"
#include "base/mem.h"
#include "base/strv.h"
#include "emulator/enter.h"
#include "emulator/hostnames.h"
#include "emulator/mounts.h"
#include "emulator/namespaces.h"
#include "emulator/rack.h"
#include "emulator/rackd.h"

static void test_range_is_found_by_name_and_number(void **state)
{
    static const char lines[] = "other:1:65536\n\nbroken\nann:x:5\nann:100000:65536\n"
                                "1000:300000:70000\nann:5:10000\n";
    struct ns_range range = {0, 0};

    (void)state;
    assert_int_equal(ns_range_find(lines, "ann", 7, &range), 0);
    assert_int_equal(range.first, 100000);
    assert_int_equal(range.count, 65535);
    assert_int_equal(ns_range_find(lines, "bob", 1000, &range), 0);
    assert_int_equal(range.first, 300000);
    range.first = 5;
    assert_int_equal(ns_range_find(lines, "bob", 7, &range), -ENOENT);
    assert_int_equal(ns_range_find("bob:1:10\n", "bob", 7, &range), -ENOENT); /* too few */
    assert_int_equal(ns_range_find("bob:-1:5000\nbob:1\n", "bob", 7, &range), -ENOENT);
    assert_int_equal(range.first, 5);
}

static void test_mounts_below_a_folder(void **state)
{
    static const char table[] = "20 1 8:1 / / rw - ext4 /dev/a rw\n"
                                "21 20 8:2 / /var rw - ext4 /dev/b rw\n"
                                "22 21 8:3 / /var/lib/x rw,relatime shared:1 - ext4 /dev/c rw\n"
                                "23 22 0:5 / /var/lib/x/deep rw - tmpfs t rw\n"
                                "24 21 0:6 / /var/a\\040b rw - tmpfs t rw\n"
                                "25 20 0:7 / /variety rw - tmpfs t rw\n"
                                "26 21 0:8 / /var/lib/x rw - tmpfs t rw\n"
                                "broken\n";
    auto_strv struct strv places = {0};

    (void)state;
    mounts_below(table, "/var", &places);
    assert_int_equal(places.n, 2);
    assert_string_equal(places.v[0], "/var/lib/x");
    assert_string_equal(places.v[1], "/var/a b");
}

static char *read_text(const char *path)
{
    char *text = file_read(path, 4096, NULL, NULL);

    assert_non_null(text);
    return text;
}

static void test_names_come_and_go_in_place(void **state)
{
    static const struct rack_host hosts[] = {{.name = "algo-1"}, {.name = "b"}};
    char path[] = "/tmp/test_rack_parts.XXXXXX";
    struct hostnames names = {.fd = -1};
    auto_free char *before = NULL;
    auto_free char *without = NULL;
    auto_free char *after = NULL;

    (void)state;
    (void)close(mkstemp(path));
    assert_int_equal(hostnames_open(&names, path, hosts, 2, true), 0);
    before = read_text(path);
    hostnames_set(&names, 0, false);
    without = read_text(path);
    hostnames_set(&names, 0, true);
    after = read_text(path);
    hostnames_close(&names);
    (void)unlink(path);
    assert_non_null(strstr(before, "\nfd66::1 algo-1\n10.66.0.1 algo-1\nfd66::2 b\n10.66.0.2 b\n"));
    assert_non_null(strstr(without, "\n#d66::1 algo-1\n#0.66.0.1 algo-1\nfd66::2 b\n"));
    assert_string_equal(before, after);
}

static void test_addresses_of_the_last_host(void **state)
{
    const struct in_addr v4 = hostnames_v4(RACK_HOSTS_MAX - 1);
    const struct in6_addr v6 = hostnames_v6(RACK_HOSTS_MAX - 1);
    char text[INET6_ADDRSTRLEN];
    unsigned char mac[6];

    (void)state;
    hostnames_mac(RACK_HOSTS_MAX - 1, mac);
    assert_memory_equal(mac, "\x02\x66\x00\x00\x01\x00", sizeof(mac));
    assert_string_equal(inet_ntop(AF_INET, &v4, text, sizeof(text)), "10.66.1.0");
    assert_string_equal(inet_ntop(AF_INET6, &v6, text, sizeof(text)), "fd66::100");
}

static void test_messages_carry_descriptors(void **state)
{
    struct rackd_message out = {.word = RACKD_EXEC, .host = 3, .number = -4, .id = 9};
    struct rackd_message in = {.word = RACKD_GO};
    struct rackd_fds given = {.n = 0}, got = {.n = 0};
    int pair[2], ends[2];
    char c = 0;

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    given.fd[given.n++] = ends[1];
    assert_int_equal(rackd_send(pair[0], &out, &given), 0);
    assert_int_equal(rackd_receive(pair[1], &in, &got), 1);
    assert_int_equal(in.word, RACKD_EXEC);
    assert_int_equal(in.host, 3);
    assert_int_equal(in.number, -4);
    assert_int_equal(in.id, 9);
    assert_int_equal(got.n, 1);
    assert_int_equal(write(got.fd[0], "x", 1), 1);
    assert_int_equal(read(ends[0], &c, 1), 1);
    (void)close(got.fd[0]);
    out.word = RACKD_FAILED;
    (void)snprintf(out.err.text, sizeof(out.err.text), "a sentence");
    assert_int_equal(rackd_send(pair[0], &out, NULL), 0);
    assert_int_equal(rackd_receive(pair[1], &in, NULL), 1);
    assert_string_equal(in.err.text, "a sentence");
    assert_int_equal(send(pair[0], "x", 1, 0), 1);
    assert_int_equal(rackd_receive(pair[1], &in, NULL), -EPROTO);
    (void)close(pair[0]);
    assert_int_equal(rackd_receive(pair[1], &in, NULL), 0);
    (void)close(pair[1]);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

static void test_words_may_be_empty_but_not_endless(void **state)
{
    char *const argv[] = {(char *)"sh", (char *)"", NULL};
    auto_free char *big = mem_zero((5 << 20) + 1);
    char *const endless[] = {big, NULL};
    auto_fd int fd = enter_pack(argv, NULL);
    char text[16] = "";

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(pread(fd, text, sizeof(text), 0), 8);
    assert_memory_equal(text, "=sh\0=\0\0\0", 8);
    memset(big, 'x', 5 << 20);
    assert_int_equal(enter_pack(endless, NULL), -E2BIG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_range_is_found_by_name_and_number),
        cmocka_unit_test(test_mounts_below_a_folder),
        cmocka_unit_test(test_names_come_and_go_in_place),
        cmocka_unit_test(test_addresses_of_the_last_host),
        cmocka_unit_test(test_messages_carry_descriptors),
        cmocka_unit_test(test_words_may_be_empty_but_not_endless),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
