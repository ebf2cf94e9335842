/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "run/reaper.h"

#include "procs.h"

#include <signal.h>
#include <stdbool.h>
#include <string.h>

#define ORPHANS 500

struct seen {
    pid_t last;
    int status;
    long max_rss;
    unsigned n, wanted;
    uv_timer_t limit;
};

static void on_end(void *data, pid_t pid, int status, const struct rusage *usage)
{
    struct seen *seen = data;

    seen->last = pid;
    seen->status = status;
    seen->max_rss = usage->ru_maxrss;
    if (++seen->n == seen->wanted)
        uv_close((uv_handle_t *)&seen->limit, NULL);
}

static void on_limit(uv_timer_t *timer)
{
    (void)timer;
    fail_msg("%s", "no word of a child in time");
}

static void open_all(uv_loop_t *loop, struct seen *seen, unsigned wanted)
{
    *seen = (struct seen){.wanted = wanted};
    assert_int_equal(uv_loop_init(loop), 0);
    assert_int_equal(reaper_open(loop, on_end, seen), 0);
    assert_int_equal(uv_timer_init(loop, &seen->limit), 0);
    assert_int_equal(uv_timer_start(&seen->limit, on_limit, PROCS_LIMIT_MS, 0), 0);
}

static void close_all(uv_loop_t *loop)
{
    reaper_close();
    (void)uv_run(loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(loop), 0);
}

static pid_t leave_with(int code)
{
    pid_t pid = fork();

    if (pid == 0)
        _exit(code);
    return pid;
}

static void test_reaper_tells_status_and_usage(void **state)
{
    struct seen seen;
    uv_loop_t loop;
    pid_t pid;

    (void)state;
    open_all(&loop, &seen, 1);
    pid = leave_with(7);
    (void)uv_run(&loop, UV_RUN_DEFAULT); /* its own handle holds up no loop */
    assert_int_equal(seen.n, 1);
    assert_int_equal(seen.last, pid);
    assert_true(WIFEXITED(seen.status));
    assert_int_equal(WEXITSTATUS(seen.status), 7);
    assert_true(seen.max_rss > 0);
    close_all(&loop);
}

static void test_reaper_tells_the_signal(void **state)
{
    struct seen seen;
    uv_loop_t loop;
    pid_t pid;

    (void)state;
    open_all(&loop, &seen, 1);
    pid = fork();
    if (pid == 0)
        _exit(pause());
    (void)kill(pid, SIGKILL);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(seen.last, pid);
    assert_true(WIFSIGNALED(seen.status));
    assert_int_equal(WTERMSIG(seen.status), SIGKILL);
    close_all(&loop);
}

static void test_reaper_hears_with_sigchld_blocked_by_whoever_started_us(void **state)
{
    struct seen seen;
    uv_loop_t loop;
    sigset_t some;

    (void)state;
    (void)sigemptyset(&some);
    (void)sigaddset(&some, SIGCHLD);
    (void)sigprocmask(SIG_BLOCK, &some, NULL);
    open_all(&loop, &seen, 1);
    (void)leave_with(0);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(seen.n, 1);
    close_all(&loop);
}

static void test_reaper_look_does_not_wait_for_the_signal(void **state)
{
    struct seen seen;
    uv_loop_t loop;
    pid_t pid;

    (void)state;
    open_all(&loop, &seen, 1);
    pid = leave_with(3);
    await_death(pid);
    reaper_look();
    assert_int_equal(seen.last, pid);
    assert_int_equal(seen.n, 1);
    reaper_look();
    assert_int_equal(seen.n, 1); /* once for each */
    close_all(&loop);
}

/* A child that leaves many orphans and exits 7: all of them come to us, and its status as well. */
static void test_reaper_gets_all_orphans_of_a_child(void **state)
{
    struct seen seen;
    uv_loop_t loop;
    pid_t pid;

    (void)state;
    open_all(&loop, &seen, ORPHANS + 1);
    pid = fork();
    if (pid == 0) {
        for (int i = 0; i < ORPHANS; i++) {
            pid_t middle = fork();

            if (middle == 0) {
                if (fork() == 0)
                    _exit(0); /* by now maybe an orphan */
                _exit(0);
            }
            (void)waitpid(middle, NULL, 0);
        }
        _exit(7);
    }
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(seen.n, ORPHANS + 1);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    close_all(&loop);
}

static void test_reaper_is_silent_after_close(void **state)
{
    struct seen seen;
    uv_loop_t loop;
    pid_t pid;

    (void)state;
    open_all(&loop, &seen, 1);
    reaper_close();
    uv_close((uv_handle_t *)&seen.limit, NULL);
    pid = leave_with(0);
    await_death(pid);
    reaper_look();
    assert_int_equal(seen.n, 0);
    assert_exits(pid, 0);
    close_all(&loop); /* a second time is harmless */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reaper_tells_status_and_usage),
        cmocka_unit_test(test_reaper_tells_the_signal),
        cmocka_unit_test(test_reaper_hears_with_sigchld_blocked_by_whoever_started_us),
        cmocka_unit_test(test_reaper_look_does_not_wait_for_the_signal),
        cmocka_unit_test(test_reaper_gets_all_orphans_of_a_child),
        cmocka_unit_test(test_reaper_is_silent_after_close),
    };

    (void)alarm(30);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
