/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "run/events.h"

#include "procs.h"

#include "base/cleanup.h"

#include <stdbool.h>
#include <string.h>

/* What the handler has got, and what it is to post: `posts` more, one from each event. */
static struct {
    uv_loop_t loop;
    uv_timer_t limit;
    int got[300];
    size_t n;
    int posts;
    int posts_when_settled;
    int settled;
    size_t n_when_settled; /* at the last time */
    bool running;          /* inside the handler */
} t;

static void post(int value)
{
    events_post((struct event){.kind = EV_SIGNAL, .value = value});
}

static void handle(const struct event *event)
{
    assert_false(t.running);
    t.running = true;
    assert_int_equal(event->kind, EV_SIGNAL);
    t.got[t.n++] = event->value;
    if (t.posts > 0) {
        t.posts--;
        post(event->value + 100);
    }
    t.running = false;
}

static void settled(void)
{
    t.settled++;
    t.n_when_settled = t.n;
    if (t.posts_when_settled > 0) {
        t.posts_when_settled--;
        post(-1);
    }
}

static void on_limit(uv_timer_t *timer)
{
    (void)timer;
    fail_msg("%s", "the loop waited with an event in the queue");
}

static int open_all(void **state)
{
    (void)state;
    memset(&t, 0, sizeof(t));
    (void)alarm(30);
    return uv_loop_init(&t.loop) || uv_timer_init(&t.loop, &t.limit) ||
           uv_timer_start(&t.limit, on_limit, PROCS_LIMIT_MS, 0) ||
           events_open(&t.loop, handle, settled);
}

static int close_all(void **state)
{
    (void)state;
    events_close();
    uv_close((uv_handle_t *)&t.limit, NULL);
    (void)uv_run(&t.loop, UV_RUN_DEFAULT);
    return uv_loop_close(&t.loop);
}

/* One turn of the loop, which has nothing to wait for but the limit. */
static void turn(void)
{
    (void)uv_run(&t.loop, UV_RUN_NOWAIT);
}

static void test_events_come_in_order_and_settle_once(void **state)
{
    (void)state;
    for (int i = 0; i < 200; i++) /* more than the queue has room for at first */
        post(i);
    assert_int_equal(t.n, 0);
    turn();
    assert_int_equal(t.n, 200);
    for (int i = 0; i < 200; i++)
        assert_int_equal(t.got[i], i);
    assert_int_equal(t.settled, 1);
    turn();
    assert_int_equal(t.settled, 1);
}

static void test_events_posted_by_the_handler_are_handled_behind_the_others(void **state)
{
    static const int wanted[] = {1, 2, 101, 102, 201};

    (void)state;
    t.posts = 3;
    post(1);
    post(2);
    turn();
    assert_int_equal(t.n, LENGTH(wanted));
    assert_memory_equal(t.got, wanted, sizeof(wanted));
    assert_int_equal(t.settled, 1);
    assert_int_equal(t.n_when_settled, LENGTH(wanted));
}

static void test_events_posted_when_settled_do_not_wait(void **state)
{
    (void)state;
    t.posts_when_settled = 2;
    post(1);
    turn();
    assert_int_equal(t.n, 3);
    assert_int_equal(t.got[1], -1);
    assert_int_equal(t.got[2], -1);
    assert_int_equal(t.settled, 3);
}

static void test_events_left_over_are_freed(void **state)
{
    (void)state;
    post(1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_events_come_in_order_and_settle_once, open_all,
                                        close_all),
        cmocka_unit_test_setup_teardown(
            test_events_posted_by_the_handler_are_handled_behind_the_others, open_all, close_all),
        cmocka_unit_test_setup_teardown(test_events_posted_when_settled_do_not_wait, open_all,
                                        close_all),
        cmocka_unit_test_setup_teardown(test_events_left_over_are_freed, open_all, close_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
