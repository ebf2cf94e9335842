/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "run/keeper.h"

#include "procs.h"

#include "base/cleanup.h"
#include "base/files.h"
#include "base/mem.h"
#include "run/child.h"
#include "run/killtree.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#define SKIPPED 77

static char mark[33];

/* A daemon of ours, to be killed, and what it started: all have inherited pipes of their own. */
struct scene {
    pid_t daemon, keeper;
    int marked;   /* end of file: the helper with the mark is gone */
    int noted;    /* ... the one without, in a session that was named */
    int stranger; /* ... the one that is neither */
    pid_t stranger_pid;
    int tell; /* write to it to end the daemon well */
};

__attribute__((noreturn)) static void linger(int fd)
{
    (void)alarm(60); /* of a test that failed nothing stays for long either */
    if (write(fd, "x", 1) != 1)
        _exit(1);
    for (;;)
        (void)pause();
}

/* A process that nobody kills with its parent; in its own session with `session` only. */
static pid_t forked_linger(int fd, bool session)
{
    pid_t pid = fork();

    if (pid == 0) {
        if (session)
            (void)setsid();
        linger(fd);
    }
    return pid;
}

static pid_t spawn_marked(int out)
{
    auto_free char *entry = mem_printf("%s=%s", KILLTREE_MARK, mark);
    char *const argv[] = {(char *)"sh", (char *)"-c",
                          (char *)"(trap '' TERM HUP; printf x; exec sleep 60) & exec sleep 60",
                          NULL};
    char *const env[] = {(char *)"PATH=/usr/bin:/bin", entry, NULL};

    return child_spawn(&(struct child_spec){argv, env, NULL, .out = out, .err = -1}, NULL);
}

/* A rank whose environment was overwritten, with a helper, named to the keeper. */
static void start_noted(int fd)
{
    pid_t leader = fork();

    if (leader == 0) {
        (void)setsid();
        (void)dup2(fd, 0);
        (void)close_range(3, ~0U,
                          0); /* what child_spawn() does: the daemon's socket is among them */
        (void)forked_linger(0, false);
        linger(0);
    }
    keeper_add(leader);
}

static void run_daemon(const int marked[2], const int noted[2], const int told[2])
{
    pid_t keeper = keeper_start(mark);
    bool well = false;

    insist(keeper > 0);
    insist(spawn_marked(marked[1]) > 0);
    (void)close(marked[1]);
    start_noted(noted[1]);
    (void)close(noted[1]);
    insist(write(told[1], &keeper, sizeof(keeper)) == (ssize_t)sizeof(keeper));
    insist(read(told[0], &well, sizeof(well)) == (ssize_t)sizeof(well));
    if (well)
        keeper_dismiss();
    _exit(0);
}

static void open_scene(struct scene *s)
{
    int marked[2], noted[2], stranger[2], to[2], from[2];

    assert_int_equal(pipe2(stranger, O_CLOEXEC), 0);
    s->stranger_pid = forked_linger(stranger[1], true);
    (void)close(stranger[1]);
    assert_int_equal(pipe2(marked, O_CLOEXEC), 0);
    assert_int_equal(pipe2(noted, O_CLOEXEC), 0);
    assert_int_equal(pipe2(to, O_CLOEXEC), 0);
    assert_int_equal(pipe2(from, O_CLOEXEC), 0);
    s->daemon = fork();
    if (s->daemon == 0)
        run_daemon(marked, noted, (const int[]){to[0], from[1]});
    (void)close(marked[1]);
    (void)close(noted[1]);
    (void)close(to[0]);
    (void)close(from[1]);
    s->marked = marked[0];
    s->noted = noted[0];
    s->stranger = stranger[0];
    (void)read_byte(s->marked);
    (void)read_byte(s->noted);
    (void)read_byte(s->noted);
    (void)read_byte(s->stranger);
    assert_int_equal(read(from[0], &s->keeper, sizeof(s->keeper)), sizeof(s->keeper));
    (void)close(from[0]);
    s->tell = to[1];
}

static bool is_silent(int fd)
{
    return poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 0) == 0;
}

static void close_scene(struct scene *s)
{
    assert_true(is_silent(s->stranger));
    (void)kill(s->stranger_pid, SIGKILL);
    while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
        continue;
    (void)close(s->stranger);
    (void)close(s->tell);
}

static void test_keeper_clears_up_after_a_daemon_that_was_killed(void **state)
{
    struct scene s;
    char text[16];

    (void)state;
    open_scene(&s);
    (void)kill(s.daemon, SIGKILL);
    (void)status_of(s.daemon);
    assert_int_equal(read_to_end(s.marked, text, sizeof(text)), 0);
    assert_int_equal(read_to_end(s.noted, text, sizeof(text)), 0);
    assert_exits(s.keeper, 0);
    close_scene(&s);
}

static void test_keeper_outlives_signals_to_all(void **state)
{
    static const int signals[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGPIPE, SIGUSR1};
    struct scene s;
    char text[16];

    (void)state;
    open_scene(&s);
    for (size_t i = 0; i < LENGTH(signals); i++)
        assert_int_equal(kill(s.keeper, signals[i]), 0);
    (void)kill(s.daemon, SIGKILL);
    (void)status_of(s.daemon);
    assert_int_equal(read_to_end(s.marked, text, sizeof(text)), 0);
    assert_int_equal(read_to_end(s.noted, text, sizeof(text)), 0);
    assert_exits(s.keeper, 0);
    close_scene(&s);
}

static void test_keeper_that_was_dismissed_kills_nobody(void **state)
{
    const bool well = true;
    struct scene s;
    char text[16];

    (void)state;
    open_scene(&s);
    assert_int_equal(write(s.tell, &well, sizeof(well)), sizeof(well));
    assert_exits(s.daemon, 0);
    assert_exits(s.keeper, 0); /* which is ours by now */
    assert_true(is_silent(s.noted));
    assert_true(is_silent(s.marked));
    assert_true(killtree_kill(mark, s.stranger_pid) >= 3); /* PDEATHSIG has the spawned one */
    (void)read_to_end(s.marked, text, sizeof(text));
    (void)read_to_end(s.noted, text, sizeof(text));
    close_scene(&s);
}

static void test_keeper_holds_no_descriptor_and_has_its_name(void **state)
{
    auto_free char *path = NULL, *name = NULL;
    char text[16];
    int read_end = -1, write_end = -1;
    pid_t keeper;

    (void)state;
    assert_int_equal(child_pipe(4096, &read_end, &write_end), 0);
    keeper = keeper_start(mark);
    assert_true(keeper > 0);
    (void)close(write_end);
    assert_int_equal(read_to_end(read_end, text, sizeof(text)), 0);
    path = mem_printf("/proc/%d/comm", (int)keeper);
    name = file_read(path, 64, NULL, NULL);
    assert_string_equal(name, "serried-keeper\n");
    assert_int_equal(getsid(keeper), keeper);
    keeper_dismiss();
    assert_exits(keeper, 0);
}

static void test_keeper_that_is_gone_harms_nobody(void **state)
{
    pid_t keeper = keeper_start(mark);

    (void)state;
    assert_true(keeper > 0);
    (void)kill(keeper, SIGKILL);
    (void)status_of(keeper);
    keeper_add(keeper);
    keeper_dismiss();
    keeper_dismiss();
}

static void test_keeper_is_not_needed_as_pid_1(void **state)
{
    pid_t outer = fork();
    int status;

    (void)state;
    if (outer == 0) {
        pid_t inner;

        if (unshare(CLONE_NEWPID) < 0)
            _exit(SKIPPED);
        inner = fork();
        if (inner == 0)
            _exit(keeper_start(mark) == 0 ? 0 : 1);
        _exit(waitpid(inner, &status, 0) == inner && WIFEXITED(status) ? WEXITSTATUS(status) : 1);
    }
    status = status_of(outer);
    if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED) {
        print_message("no namespaces can be made here\n");
        skip();
    }
    assert_int_equal(status, 0);
}

static int set_up(void **state)
{
    (void)state;
    (void)alarm(30);
    killtree_new_mark(mark);
    return prctl(PR_SET_CHILD_SUBREAPER, 1L);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keeper_clears_up_after_a_daemon_that_was_killed),
        cmocka_unit_test(test_keeper_outlives_signals_to_all),
        cmocka_unit_test(test_keeper_that_was_dismissed_kills_nobody),
        cmocka_unit_test(test_keeper_holds_no_descriptor_and_has_its_name),
        cmocka_unit_test(test_keeper_that_is_gone_harms_nobody),
        cmocka_unit_test(test_keeper_is_not_needed_as_pid_1),
    };

    return cmocka_run_group_tests(tests, set_up, NULL);
}
