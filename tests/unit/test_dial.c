/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "run/dial.h"

#include "procs.h"

#include "base/cleanup.h"
#include "run/lookup.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>

static struct {
    uv_loop_t loop;
    struct dial *dial;
    int attempts, lates, unknown;
    const int *what; /* is counted, until there is enough: then the dial is closed */
    int enough;
    bool fails; /* every attempt at once */
    struct sockaddr_storage last;
} t;

static void count(int *what)
{
    if (++*what == t.enough && what == t.what)
        dial_close(TAKE(t.dial));
}

static void on_attempt(void *data, const struct sockaddr *address)
{
    assert_ptr_equal(data, &t);
    memcpy(&t.last, address,
           address->sa_family == AF_INET ? sizeof(struct sockaddr_in)
                                         : sizeof(struct sockaddr_in6));
    if (t.fails)
        dial_next(t.dial);
    count(&t.attempts);
}

static void on_late(void *data)
{
    (void)data;
    dial_next(t.dial);
    count(&t.lates);
}

static void on_not_found(void *data)
{
    (void)data;
    count(&t.unknown);
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
    return uv_loop_close(&t.loop);
}

/* Dials until `what` is `enough`. */
static void dial(const char *name, uint32_t attempt_ms, const int *what, int enough)
{
    const struct dial_spec spec = {.name = name,
                                   .port = 7770,
                                   .pause_ms = 1,
                                   .pause_max_ms = 4,
                                   .attempt_ms = attempt_ms,
                                   .attempt = on_attempt,
                                   .late = on_late,
                                   .not_found = on_not_found,
                                   .data = &t};

    t.what = what;
    t.enough = enough;
    t.dial = dial_open(&t.loop, &spec);
    (void)uv_run(&t.loop, UV_RUN_DEFAULT);
    assert_null(t.dial);
}

static void test_address_of_a_name_is_tried_at_the_port(void **state)
{
    const struct sockaddr_in *four = (const struct sockaddr_in *)&t.last;

    (void)state;
    dial("127.0.0.1", PROCS_LIMIT_MS, &t.attempts, 1);
    assert_int_equal(four->sin_family, AF_INET);
    assert_int_equal(four->sin_port, htons(7770));
    assert_int_equal(four->sin_addr.s_addr, htonl(INADDR_LOOPBACK));
    assert_int_equal(t.unknown, 0);
}

static void test_address_of_ipv6_is_tried_too(void **state)
{
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)&t.last;

    (void)state;
    dial("::1", PROCS_LIMIT_MS, &t.attempts, 1);
    assert_int_equal(six->sin6_family, AF_INET6);
    assert_int_equal(six->sin6_port, htons(7770));
}

static void test_failed_attempt_is_followed_by_others(void **state)
{
    (void)state;
    t.fails = true;
    dial("127.0.0.1", PROCS_LIMIT_MS, &t.attempts, 5);
    assert_int_equal(t.attempts, 5);
    assert_int_equal(t.lates, 0);
}

static void test_attempt_that_takes_too_long_is_given_up(void **state)
{
    (void)state;
    dial("127.0.0.1", 5, &t.lates, 2);
    assert_int_equal(t.lates, 2);
}

static void test_unknown_name_is_said_and_asked_for_again(void **state)
{
    (void)state;
    dial("no name at all", PROCS_LIMIT_MS, &t.unknown, 3);
    assert_int_equal(t.unknown, 3);
    assert_int_equal(t.attempts, 0);
}

/* It may have been answered already, or be with a thread: nothing comes of it either way. */
static void test_lookup_is_left_behind(void **state)
{
    const struct dial_spec spec = {.name = "localhost",
                                   .attempt_ms = PROCS_LIMIT_MS,
                                   .attempt = on_attempt,
                                   .not_found = on_not_found,
                                   .data = &t};
    struct dial *d = dial_open(&t.loop, &spec);

    (void)state;
    (void)uv_run(&t.loop, UV_RUN_NOWAIT);
    t.attempts = t.unknown = 0;
    dial_close(d);
    (void)uv_run(&t.loop, UV_RUN_DEFAULT);
    assert_false(lookup_is_busy());
    assert_int_equal(t.attempts + t.unknown, 0);
}

#define dial_test(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        dial_test(test_address_of_a_name_is_tried_at_the_port),
        dial_test(test_address_of_ipv6_is_tried_too),
        dial_test(test_failed_attempt_is_followed_by_others),
        dial_test(test_attempt_that_takes_too_long_is_given_up),
        dial_test(test_unknown_name_is_said_and_asked_for_again),
        dial_test(test_lookup_is_left_behind),
    };

    (void)alarm(30);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
