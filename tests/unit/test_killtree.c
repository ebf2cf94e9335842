/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "run/killtree.h"

#include "procs.h"

#include "base/cleanup.h"
#include "base/mem.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>

#define GENERATIONS 20000 /* of the race against fork: far more than it should see */
#define SKIPPED     77    /* exit status of a child that may not make namespaces */

static char mark[33];

/* Says that it is there, and stays. */
__attribute__((noreturn)) static void linger(int fd)
{
    (void)alarm(60); /* of a test that failed nothing stays for long either */
    if (write(fd, "x", 1) != 1)
        _exit(1);
    for (;;)
        (void)pause();
}

static void own_session_linger(int fd)
{
    (void)setsid();
    (void)signal(SIGTERM, SIG_IGN);
    (void)signal(SIGHUP, SIG_IGN);
    linger(fd);
}

/* Becomes a program whose environment ends in `entry`, after more than a page and a pipe hold. */
__attribute__((noreturn)) static void linger_with(const char *entry, int fd)
{
    char *big = mem_zero(100001);
    char *const argv[] = {(char *)"sh", (char *)"-c", (char *)"printf x; exec sleep 60", NULL};
    char *const env[] = {(char *)"PATH=/usr/bin:/bin", big, (char *)entry, NULL};

    memset(big, 'A', 100000);
    memcpy(big, "BIG=", 4);
    (void)dup2(fd, 1);
    (void)execve("/bin/sh", argv, env);
    _exit(127);
}

static pid_t forked(void (*what)(int fd), int fd)
{
    pid_t pid = fork();

    if (pid == 0) {
        what(fd);
        _exit(0);
    }
    return pid;
}

static pid_t forked_with(const char *entry, int fd)
{
    pid_t pid = fork();

    if (pid == 0)
        linger_with(entry, fd);
    return pid;
}

static void orphan_linger(int fd)
{
    (void)forked(own_session_linger, fd);
}

/* As field case 31: a helper, one in its own session, one that forked twice. Four in all. */
static void rank(int fd)
{
    (void)setsid();
    (void)forked(linger, fd);
    (void)forked(own_session_linger, fd);
    (void)waitpid(forked(orphan_linger, fd), NULL, 0);
    linger(fd);
}

static void reap_all(void)
{
    while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
        continue;
}

static bool is_alive(pid_t pid)
{
    siginfo_t info = {.si_pid = 0};

    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0;
}

static void end(pid_t pid)
{
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
}

static void test_killtree_new_mark_is_new_each_time(void **state)
{
    char other[33];

    (void)state;
    killtree_new_mark(other);
    assert_int_equal(strlen(other), 32);
    assert_int_equal(strspn(other, "0123456789abcdef"), 32);
    assert_string_not_equal(other, mark);
}

static void test_killtree_kill_finds_helpers_wherever_they_hide(void **state)
{
    int ends[2];
    char text[16];

    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    (void)forked(rank, ends[1]);
    (void)close(ends[1]);
    for (int i = 0; i < 4; i++)
        (void)read_byte(ends[0]);
    assert_int_equal(killtree_count(mark, 0), 4);
    assert_int_equal(killtree_kill(mark, 0), 4);
    assert_int_equal(read_to_end(ends[0], text, sizeof(text)), 0); /* all of them are gone */
    reap_all();
    assert_int_equal(killtree_count(mark, 0), 0);
    assert_int_equal(killtree_kill(mark, 0), 0);
}

static void test_killtree_counts_no_zombies(void **state)
{
    pid_t pid = fork();

    (void)state;
    if (pid == 0)
        _exit(0);
    await_death(pid);
    assert_int_equal(killtree_count(mark, 0), 0);
    assert_int_equal(killtree_kill(mark, 0), 0);
    reap_all();
}

static void *outlive(void *main_thread)
{
    (void)pthread_join(*(pthread_t *)main_thread, NULL);
    linger(3);
}

/* In /proc it looks like a zombie, but its second thread works on. */
static void test_killtree_counts_a_program_whose_main_thread_has_left(void **state)
{
    int ends[2];
    pid_t pid;

    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid = fork();
    if (pid == 0) {
        static pthread_t first;
        pthread_t second;

        first = pthread_self();
        (void)dup2(ends[1], 3);
        insist(pthread_create(&second, NULL, outlive, &first) == 0);
        pthread_exit(NULL);
    }
    (void)read_byte(ends[0]);
    assert_int_equal(killtree_count(mark, 0), 1);
    assert_int_equal(killtree_kill(mark, 0), 1);
    assert_true(WIFSIGNALED(status_of(pid)));
    (void)close(ends[0]);
    (void)close(ends[1]);
}

/* Each generation forks the next one and is gone: no list of them is true for long. */
static void run_away(int fd)
{
    (void)setsid();
    for (int i = 0; i < GENERATIONS; i++) {
        if (i == 100 && write(fd, "x", 1) != 1)
            _exit(1);
        if (fork() != 0)
            _exit(0);
    }
    _exit(write(fd, "end", 3) == 3 ? 0 : 1);
}

static void test_killtree_kill_catches_who_forks_away(void **state)
{
    int ends[2], rounds = 0;
    char text[16];

    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    (void)forked(run_away, ends[1]);
    (void)close(ends[1]);
    (void)read_byte(ends[0]);
    while (killtree_kill(mark, 0) > 0 && ++rounds < 1000)
        while (waitpid(-1, NULL, WNOHANG) > 0)
            continue;
    assert_int_equal(read_to_end(ends[0], text, sizeof(text)), 0); /* it did not come to its end */
    reap_all();
}

static void test_killtree_kill_spares_one_and_its_children(void **state)
{
    int ends[2];
    pid_t spare, other;

    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    spare = fork();
    if (spare == 0) {
        (void)forked(linger, ends[1]);
        linger(ends[1]);
    }
    other = forked(linger, ends[1]);
    (void)close(ends[1]);
    for (int i = 0; i < 3; i++)
        (void)read_byte(ends[0]);
    assert_int_equal(killtree_kill(mark, spare), 1);
    (void)status_of(other);
    assert_int_equal(killtree_count(mark, spare), 0);
    assert_int_equal(killtree_count(mark, 0), 2);
    assert_true(is_alive(spare));
    assert_int_equal(killtree_kill(mark, 0), 2);
    reap_all();
    (void)close(ends[0]);
}

static void test_killtree_kill_leaves_others_alone(void **state)
{
    int ends[2];
    pid_t sibling, launcher;

    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    sibling = forked(linger, ends[1]);
    (void)read_byte(ends[0]);
    launcher = fork();
    if (launcher == 0) {
        char c;
        pid_t mine = forked(linger, ends[1]);

        insist(read(ends[0], &c, 1) == 1);
        insist(killtree_kill(mark, 0) == 1);
        insist(waitpid(mine, NULL, 0) == mine);
        _exit(0);
    }
    assert_exits(launcher, 0);
    assert_true(is_alive(sibling));
    end(sibling);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

static void test_killtree_sweep_kills_the_marked_and_the_noted_and_nobody_else(void **state)
{
    auto_free char *ours = mem_printf("%s=%s", KILLTREE_MARK, mark);
    auto_free char *longer = mem_printf("%s=%s0", KILLTREE_MARK, mark);
    auto_free char *quoted = mem_printf("X%s=%s", KILLTREE_MARK, mark);
    int ends[2];
    pid_t marked, first, second, noted, unmarked;

    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    marked = forked_with(ours, ends[1]);
    first = forked_with(longer, ends[1]);
    second = forked_with(quoted, ends[1]);
    unmarked = forked(own_session_linger, ends[1]);
    noted = fork();
    if (noted == 0) {
        (void)setsid();
        (void)forked(linger, ends[1]);
        linger(ends[1]);
    }
    for (int i = 0; i < 6; i++)
        (void)read_byte(ends[0]);
    killtree_note(noted);
    assert_true(killtree_sweep(mark, PROCS_LIMIT_MS));
    assert_true(WIFSIGNALED(status_of(marked)));
    assert_true(WIFSIGNALED(status_of(noted)));
    assert_true(is_alive(first));
    assert_true(is_alive(second));
    assert_true(is_alive(unmarked));
    assert_int_equal(killtree_count(mark, 0), 3); /* the noted one's helper went too */
    assert_int_equal(killtree_kill(mark, 0), 3);
    reap_all();
    (void)close(ends[0]);
    (void)close(ends[1]);
}

/* ---- as PID 1, and without /proc: in namespaces -----------------------------------------------
 */

static void in_namespaces(void **state, int flags, void (*what)(void))
{
    pid_t pid;
    int status;

    (void)state;
    pid = fork();
    if (pid == 0) {
        if (unshare(flags) < 0 || mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) < 0)
            _exit(SKIPPED);
        pid = fork(); /* the first process of a new PID namespace */
        if (pid == 0) {
            (void)alarm(20);
            what();
            _exit(0);
        }
        _exit(waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 1);
    }
    status = status_of(pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == SKIPPED) {
        print_message("no namespaces can be made here\n");
        skip();
    }
    assert_int_equal(WEXITSTATUS(status), 0);
}

static pid_t orphan_with(const char *entry, int fd, pid_t *middle)
{
    int ends[2];
    pid_t orphan = 0;

    insist(pipe2(ends, O_CLOEXEC) == 0);
    *middle = fork();
    if (*middle == 0) {
        (void)setsid();
        orphan = forked_with(entry, fd);
        _exit(write(ends[1], &orphan, sizeof(orphan)) == (ssize_t)sizeof(orphan) ? 0 : 1);
    }
    insist(read(ends[0], &orphan, sizeof(orphan)) == (ssize_t)sizeof(orphan));
    (void)close(ends[0]);
    (void)close(ends[1]);
    return orphan;
}

static void wait_for(int fd, int n)
{
    char c;

    while (n--)
        insist(read(fd, &c, 1) == 1);
}

static void as_pid_1(void)
{
    auto_free char *ours = mem_printf("%s=%s", KILLTREE_MARK, mark);
    pid_t marked, stranger, mate, leader, middle;
    int ends[2];

    if (mount("proc", "/proc", "proc", 0, NULL) < 0)
        _exit(SKIPPED);
    insist(getpid() == 1);
    insist(pipe2(ends, O_CLOEXEC) == 0);
    marked = orphan_with(ours, ends[1], &middle);
    insist(waitpid(middle, NULL, 0) == middle);
    stranger = orphan_with("X=1", ends[1], &middle);
    insist(waitpid(middle, NULL, 0) == middle);
    mate = orphan_with("X=1", ends[1], &leader); /* its leader is noted */
    killtree_note(leader);
    insist(waitpid(leader, NULL, 0) == leader);
    wait_for(ends[0], 3);
    insist(killtree_count(mark, 0) == 2);
    insist(killtree_kill(mark, 0) == 2);
    insist(waitpid(marked, NULL, 0) == marked);
    insist(waitpid(mate, NULL, 0) == mate);
    insist(is_alive(stranger));
}

static void test_killtree_as_pid_1_leaves_unmarked_orphans_alone(void **state)
{
    in_namespaces(state, CLONE_NEWPID | CLONE_NEWNS, as_pid_1);
}

static pid_t stranger_with_pid(pid_t wanted, int fd)
{
    auto_free char *last = mem_printf("%d", (int)wanted - 1);
    auto_fd int file = open("/proc/sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC);

    if (file < 0 || write(file, last, strlen(last)) != (ssize_t)strlen(last))
        _exit(SKIPPED);
    return forked(own_session_linger, fd);
}

static void with_a_number_used_again(void)
{
    int ends[2];
    pid_t leader, stranger;

    if (mount("proc", "/proc", "proc", 0, NULL) < 0)
        _exit(SKIPPED);
    insist(pipe2(ends, O_CLOEXEC) == 0);
    leader = forked(own_session_linger, ends[1]);
    wait_for(ends[0], 1);
    killtree_note(leader);
    insist(killtree_count(mark, 0) == 1);
    /* start times have a hundredth of a second's grain: the pipe stays silent that long */
    (void)poll(&(struct pollfd){.fd = ends[0], .events = POLLIN}, 1, 30);
    end(leader);
    stranger = stranger_with_pid(leader, ends[1]);
    wait_for(ends[0], 1);
    insist(stranger == leader);
    insist(killtree_count(mark, 0) == 0);
    insist(killtree_sweep(mark, PROCS_LIMIT_MS));
    insist(is_alive(stranger));
}

static void test_killtree_takes_no_stranger_for_a_rank_whose_number_it_has(void **state)
{
    in_namespaces(state, CLONE_NEWPID | CLONE_NEWNS, with_a_number_used_again);
}

static void without_proc(void)
{
    int ends[2];
    pid_t noted;

    if (mount("none", "/proc", "tmpfs", 0, NULL) < 0)
        _exit(SKIPPED);
    insist(pipe2(ends, O_CLOEXEC) == 0);
    noted = forked(own_session_linger, ends[1]);
    wait_for(ends[0], 1);
    insist(killtree_kill(mark, 0) == 0);
    killtree_note(noted);
    insist(killtree_count(mark, 0) == 1);
    insist(killtree_kill(mark, 0) == 1);
    insist(waitpid(noted, NULL, 0) == noted);
    insist(killtree_kill(mark, 0) == 0);
}

static void test_killtree_without_proc_kills_the_children_it_knows(void **state)
{
    in_namespaces(state, CLONE_NEWNS, without_proc);
}

/* The old /proc shows the numbers of another namespace, which may be anybody's here. */
static void with_a_foreign_proc(void)
{
    int ends[2];
    pid_t child;

    insist(pipe2(ends, O_CLOEXEC) == 0);
    child = forked(own_session_linger, ends[1]);
    wait_for(ends[0], 1);
    insist(killtree_sweep(mark, PROCS_LIMIT_MS));
    killtree_note(child);
    insist(killtree_kill(mark, 0) == 1);
    insist(waitpid(child, NULL, 0) == child);
}

static void test_killtree_does_not_believe_the_proc_of_another_namespace(void **state)
{
    in_namespaces(state, CLONE_NEWPID | CLONE_NEWNS, with_a_foreign_proc);
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
        cmocka_unit_test(test_killtree_new_mark_is_new_each_time),
        cmocka_unit_test(test_killtree_kill_finds_helpers_wherever_they_hide),
        cmocka_unit_test(test_killtree_counts_no_zombies),
        cmocka_unit_test(test_killtree_counts_a_program_whose_main_thread_has_left),
        cmocka_unit_test(test_killtree_kill_catches_who_forks_away),
        cmocka_unit_test(test_killtree_kill_spares_one_and_its_children),
        cmocka_unit_test(test_killtree_kill_leaves_others_alone),
        cmocka_unit_test(test_killtree_sweep_kills_the_marked_and_the_noted_and_nobody_else),
        cmocka_unit_test(test_killtree_as_pid_1_leaves_unmarked_orphans_alone),
        cmocka_unit_test(test_killtree_takes_no_stranger_for_a_rank_whose_number_it_has),
        cmocka_unit_test(test_killtree_without_proc_kills_the_children_it_knows),
        cmocka_unit_test(test_killtree_does_not_believe_the_proc_of_another_namespace),
    };

    return cmocka_run_group_tests(tests, set_up, NULL);
}
