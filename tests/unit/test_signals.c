/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "run/signals.h"

#include "procs.h"

#include "base/cleanup.h"
#include "run/events.h"

#include <signal.h>
#include <stdbool.h>

static uv_loop_t loop;
static int seen[NSIG];

static void handle(const struct event *event)
{
    assert_int_equal(event->kind, EV_SIGNAL);
    seen[event->value]++;
}

static void settled(void)
{
}

static int open_loop(void **state)
{
    (void)state;
    for (size_t i = 0; i < LENGTH(seen); i++)
        seen[i] = 0;
    return uv_loop_init(&loop) || events_open(&loop, handle, settled);
}

static int close_loop(void **state)
{
    (void)state;
    signals_close();
    events_close();
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    return uv_loop_close(&loop);
}

/* libuv passes a signal on through a pipe: it takes a turn to come, and one to be handled. */
static void turns(void)
{
    for (int i = 0; i < 3; i++)
        (void)uv_run(&loop, UV_RUN_NOWAIT);
}

static bool is_blocked(int number)
{
    sigset_t now;

    return sigprocmask(SIG_BLOCK, NULL, &now) == 0 && sigismember(&now, number);
}

static void test_signals_that_come_early_are_events_later(void **state)
{
    (void)state;
    signals_hold();
    assert_int_equal(raise(SIGTERM), 0);
    assert_int_equal(raise(SIGUSR1), 0);
    assert_int_equal(signals_open(&loop), 0);
    turns();
    assert_int_equal(seen[SIGTERM], 1);
    assert_int_equal(seen[SIGUSR1], 1);
    assert_int_equal(seen[SIGINT], 0);
}

static void test_signals_that_were_blocked_are_let_in(void **state)
{
    sigset_t all;

    (void)state;
    (void)sigfillset(&all);
    assert_int_equal(sigprocmask(SIG_SETMASK, &all, NULL), 0);
    signals_hold();
    assert_int_equal(signals_open(&loop), 0);
    for (int number = 1; number < NSIG; number++)
        assert_false(is_blocked(number));
    assert_int_equal(raise(SIGINT), 0);
    turns();
    assert_int_equal(seen[SIGINT], 1);
}

static void test_signals_of_a_terminal_that_hangs_up_stay_ignored(void **state)
{
    (void)state;
    assert_ptr_not_equal(signal(SIGHUP, SIG_IGN), SIG_ERR);
    signals_hold();
    assert_int_equal(signals_open(&loop), 0);
    assert_int_equal(raise(SIGHUP), 0);
    assert_int_equal(raise(SIGUSR2), 0);
    turns();
    assert_int_equal(seen[SIGHUP], 0);
    assert_int_equal(seen[SIGUSR2], 1);
    (void)signal(SIGHUP, SIG_DFL);
}

static void test_signals_of_a_reader_that_is_gone_are_errors_of_write(void **state)
{
    int ends[2];

    (void)state;
    signals_hold();
    assert_int_equal(signals_open(&loop), 0);
    assert_int_equal(pipe(ends), 0);
    (void)close(ends[0]);
    assert_int_equal(write(ends[1], "x", 1), -1);
    assert_int_equal(errno, EPIPE);
    (void)close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_signals_that_come_early_are_events_later, open_loop,
                                        close_loop),
        cmocka_unit_test_setup_teardown(test_signals_that_were_blocked_are_let_in, open_loop,
                                        close_loop),
        cmocka_unit_test_setup_teardown(test_signals_of_a_terminal_that_hangs_up_stay_ignored,
                                        open_loop, close_loop),
        cmocka_unit_test_setup_teardown(test_signals_of_a_reader_that_is_gone_are_errors_of_write,
                                        open_loop, close_loop),
    };

    (void)alarm(30);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
