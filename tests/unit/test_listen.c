/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "run/listen.h"

#include "procs.h"

#include "base/cleanup.h"
#include "base/err.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

static struct {
    uv_loop_t loop;
    struct listen *listen;
    bool opened;
    size_t n;
    struct err err;
    int connections;
    uv_tcp_t accepted;
} t;

static void on_connection(void *data, uv_stream_t *listener)
{
    assert_ptr_equal(data, &t);
    t.connections++;
    assert_int_equal(uv_tcp_init(&t.loop, &t.accepted), 0);
    assert_int_equal(uv_accept(listener, (uv_stream_t *)&t.accepted), 0);
    uv_close((uv_handle_t *)&t.accepted, NULL);
}

static void on_open(void *data, size_t n, const struct err *err)
{
    assert_ptr_equal(data, &t);
    assert_false(t.opened);
    t.opened = true;
    t.n = n;
    t.err = *err;
}

static int set_up(void **state)
{
    (void)state;
    memset(&t, 0, sizeof(t));
    return uv_loop_init(&t.loop);
}

static int tear_down(void **state)
{
    (void)state;
    listen_close(TAKE(t.listen));
    (void)uv_run(&t.loop, UV_RUN_DEFAULT);
    return uv_loop_close(&t.loop);
}

/* A port of 127.0.0.1 that nobody has now, or a socket that listens there. */
static int take_port(unsigned *port, bool listening)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, size), 0);
    if (listening)
        assert_int_equal(listen(fd, 1), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &size), 0);
    *port = ntohs(at.sin_port);
    return fd;
}

static unsigned free_port(void)
{
    unsigned port;

    (void)close(take_port(&port, false));
    return port;
}

static void open_at(const char *interface, const char *own_name, unsigned port)
{
    const struct listen_spec spec = {interface, own_name, port, on_connection, on_open, &t};

    t.listen = listen_open(&t.loop, &spec);
    assert_false(t.opened);
    while (!t.opened)
        assert_true(uv_run(&t.loop, UV_RUN_ONCE) != 0 || t.opened);
}

static bool connects(in_addr_t address, unsigned port)
{
    const struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr = {htonl(address)}};
    auto_fd int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    return connect(fd, (const struct sockaddr *)&at, sizeof(at)) == 0;
}

static void test_loopback_listens_on_the_address_of_the_own_name(void **state)
{
    unsigned port = free_port();

    (void)state;
    open_at("lo", "127.0.0.9", port);
    assert_int_equal(t.err.code, 0);
    assert_int_equal(t.n, 1);
    assert_true(connects(INADDR_LOOPBACK + 8, port));
    assert_false(connects(INADDR_LOOPBACK, port));
    while (!t.connections)
        assert_int_not_equal(uv_run(&t.loop, UV_RUN_ONCE), 0);
}

static void test_name_of_elsewhere_or_of_nothing_gives_127_0_0_1(void **state)
{
    static const char *const names[] = {"192.0.2.77", "no name at all"};

    (void)state;
    for (size_t i = 0; i < LENGTH(names); i++) {
        unsigned port = free_port();

        t.opened = false;
        open_at("no-such-interface", names[i], port);
        assert_int_equal(t.n, 1);
        assert_true(connects(INADDR_LOOPBACK, port));
        listen_close(TAKE(t.listen));
    }
}

static void test_port_that_is_in_use_is_named(void **state)
{
    unsigned port;
    auto_fd int fd = take_port(&port, true);

    (void)state;
    assert_true(fd >= 0);
    open_at("lo", "127.0.0.1", port);
    assert_int_equal(t.n, 0);
    assert_int_equal(t.err.code, -EADDRINUSE);
    assert_int_equal(t.err.blame, BLAME_PLATFORM);
    assert_non_null(strstr(t.err.text, "127.0.0.1"));
    assert_non_null(strstr(t.err.text, "in use"));
    assert_non_null(strstr(t.err.text, "peer.port"));
}

/* The name server is asked in a thread: what comes of it is of no interest any more. */
static void test_can_be_closed_before_it_listens(void **state)
{
    const struct listen_spec spec = {"lo", "localhost", free_port(), on_connection, on_open, &t};

    (void)state;
    listen_close(listen_open(&t.loop, &spec));
    (void)uv_run(&t.loop, UV_RUN_DEFAULT);
    assert_false(t.opened);
}

static void test_interface_of_an_address_is_known(void **state)
{
    char name[64];

    (void)state;
    listen_interface_of("127.0.0.1", name, sizeof(name));
    assert_string_equal(name, "lo");
    listen_interface_of("127.77.0.1", name, sizeof(name));
    assert_string_equal(name, "lo");
    listen_interface_of("192.0.2.77", name, sizeof(name));
    assert_string_equal(name, "");
}

#define listen_test(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        listen_test(test_loopback_listens_on_the_address_of_the_own_name),
        listen_test(test_name_of_elsewhere_or_of_nothing_gives_127_0_0_1),
        listen_test(test_port_that_is_in_use_is_named),
        listen_test(test_can_be_closed_before_it_listens),
        listen_test(test_interface_of_an_address_is_known),
    };

    (void)alarm(30);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
