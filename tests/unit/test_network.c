/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "run/network.h"

#include "procs.h"

#include "base/cleanup.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

/* Somebody else's socket; *port 0: any. It listens if `listening`. */
static int take_port(int family, unsigned *port, bool listening)
{
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)*port)};
    struct sockaddr_in four = {.sin_family = AF_INET,
                               .sin_port = htons((uint16_t)*port),
                               .sin_addr = {htonl(INADDR_LOOPBACK)}};
    bool is_six = family == AF_INET6;
    socklen_t size = is_six ? sizeof(six) : sizeof(four);
    struct sockaddr *name = is_six ? (struct sockaddr *)&six : (struct sockaddr *)&four;
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 && is_six) /* a machine without IPv6 */
        return -1;
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, name, size), 0);
    if (listening)
        assert_int_equal(listen(fd, 1), 0);
    assert_int_equal(getsockname(fd, name, &size), 0);
    *port = ntohs(is_six ? six.sin6_port : four.sin_port);
    return fd;
}

static unsigned free_port(void)
{
    unsigned port = 0;

    (void)close(take_port(AF_INET, &port, false));
    return port;
}

static void test_port_that_is_free_is_taken_as_wanted(void **state)
{
    unsigned port = free_port();

    (void)state;
    assert_int_equal(network_choose_port(port), port);
}

static void test_port_of_a_listener_gives_another(void **state)
{
    static const int families[] = {AF_INET, AF_INET6};

    (void)state;
    for (size_t i = 0; i < LENGTH(families); i++) {
        unsigned port = 0, chosen;
        auto_fd int fd = take_port(families[i], &port, true);

        if (fd < 0)
            continue;
        chosen = network_choose_port(port);
        assert_int_not_equal(chosen, port);
        assert_in_range(chosen, 1, 65535);
    }
}

/* As two jobs that start together: nobody listens yet. */
static void test_port_that_was_chosen_before_is_not_chosen_again(void **state)
{
    unsigned port = free_port();
    unsigned first = network_choose_port(port);
    unsigned second = network_choose_port(port);

    (void)state;
    assert_int_equal(first, port);
    assert_int_not_equal(second, port);
    assert_in_range(second, 1, 65535);
}

static void test_port_can_be_listened_on_afterwards(void **state)
{
    unsigned port = network_choose_port(free_port());
    auto_fd int fd = take_port(AF_INET, &port, true);

    (void)state;
    assert_true(fd >= 0);
}

static void test_name_of_an_address_resolves_and_nothing_is_left_running(void **state)
{
    uv_loop_t loop;

    (void)state;
    assert_int_equal(uv_loop_init(&loop), 0);
    assert_true(network_resolves(&loop, "127.0.0.1", PROCS_LIMIT_MS));
    assert_false(network_is_busy());
    assert_false(network_resolves(&loop, "no name at all", PROCS_LIMIT_MS));
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_port_that_is_free_is_taken_as_wanted),
        cmocka_unit_test(test_port_of_a_listener_gives_another),
        cmocka_unit_test(test_port_that_was_chosen_before_is_not_chosen_again),
        cmocka_unit_test(test_port_can_be_listened_on_afterwards),
        cmocka_unit_test(test_name_of_an_address_resolves_and_nothing_is_left_running),
    };

    (void)alarm(30);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
