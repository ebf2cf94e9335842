/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "run/child.h"

#include "procs.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/files.h"
#include "base/mem.h"
#include "base/strv.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

static char *const plain_env[] = {(char *)"PATH=/usr/bin:/bin", NULL};
static char folder[] = "/tmp/test_child.XXXXXX";

#define ARGV(...)                                                                                  \
    (char *const[])                                                                                \
    {                                                                                              \
        __VA_ARGS__, NULL                                                                          \
    }

static char *write_script(const char *name, const char *text, mode_t mode)
{
    char *path = path_join(folder, name);

    assert_int_equal(file_write(path, text, strlen(text)), 0);
    assert_int_equal(chmod(path, mode), 0);
    return path;
}

static pid_t spawn(char *const *argv, int out, int err_fd)
{
    struct err err = ERR_INIT;
    pid_t pid =
        child_spawn(&(struct child_spec){argv, plain_env, NULL, .out = out, .err = err_fd}, &err);

    if (pid < 0)
        fail_msg("%s", err.text);
    return pid;
}

/* What the program wrote to its standard output. */
static void output_of(char *const *argv, char *text, size_t size)
{
    int read_end = -1, write_end = -1;
    pid_t pid;

    assert_int_equal(child_pipe(65536, &read_end, &write_end), 0);
    pid = spawn(argv, write_end, -1);
    (void)close(write_end);
    (void)read_to_end(read_end, text, size);
    assert_exits(pid, 0);
}

static void assert_refused(const struct child_spec *spec, enum err_blame blame, int code,
                           const char *text)
{
    struct err err = ERR_INIT;

    assert_int_equal(child_spawn(spec, &err), code);
    assert_string_equal(err.text, text);
    assert_int_equal(err.code, code);
    assert_int_equal(err.blame, blame);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* nothing is left to reap */
    assert_int_equal(errno, ECHILD);
}

static void nothing(int signum)
{
    (void)signum;
}

static void test_child_has_clean_signals_and_its_own_session(void **state)
{
    char text[8192];
    char line[64];
    sigset_t some, before;
    int read_end = -1, write_end = -1;
    pid_t pid;

    (void)state;
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGHUP, SIG_IGN);
    (void)signal(SIGUSR1, nothing);
    (void)sigemptyset(&some);
    (void)sigaddset(&some, SIGUSR2);
    (void)sigprocmask(SIG_BLOCK, &some, &before);
    assert_int_equal(child_pipe(65536, &read_end, &write_end), 0);
    pid = spawn(ARGV((char *)"cat", (char *)"/proc/self/status"), write_end, -1);
    (void)sigprocmask(SIG_SETMASK, NULL, &some);
    assert_true(sigismember(&some, SIGUSR2)); /* ours is as it was */
    assert_false(sigismember(&some, SIGUSR1));
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    (void)close(write_end);
    (void)read_to_end(read_end, text, sizeof(text));
    assert_exits(pid, 0);
    assert_non_null(strstr(text, "SigBlk:\t0000000000000000\n"));
    assert_non_null(strstr(text, "SigIgn:\t0000000000000000\n"));
    (void)snprintf(line, sizeof(line), "NSpgid:\t%d\nNSsid:\t%d\n", (int)pid, (int)pid);
    assert_non_null(strstr(text, line));
    (void)signal(SIGPIPE, SIG_DFL);
    (void)signal(SIGHUP, SIG_DFL);
    (void)signal(SIGUSR1, SIG_DFL);
}

static void test_child_has_no_descriptor_above_2(void **state)
{
    char text[1024];
    int stray = dup(0); /* one without O_CLOEXEC */

    (void)state;
    output_of(ARGV((char *)"ls", (char *)"/proc/self/fd"), text, sizeof(text));
    assert_string_equal(text, "0\n1\n2\n3\n"); /* 3: the folder itself */
    (void)close(stray);
}

static void test_child_reads_nothing(void **state)
{
    char text[64];

    (void)state;
    output_of(ARGV((char *)"sh", (char *)"-c", (char *)"cat; echo end"), text, sizeof(text));
    assert_string_equal(text, "end\n");
}

/* The pipes have the numbers 1 and 2 themselves, the wrong way round, and 0 is closed. */
static void test_child_gets_out_and_err_whatever_their_numbers(void **state)
{
    int out[2], err[2];
    char text[64];
    pid_t launcher;

    (void)state;
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    assert_int_equal(pipe2(err, O_CLOEXEC), 0);
    launcher = fork();
    if (launcher == 0) {
        char *const *argv = ARGV((char *)"sh", (char *)"-c", (char *)"echo out; echo err >&2");
        pid_t pid;

        (void)dup2(out[1], 2);
        (void)dup2(err[1], 1);
        (void)close(0);
        pid = child_spawn(&(struct child_spec){argv, plain_env, NULL, .out = 2, .err = 1}, NULL);
        _exit(pid > 0 && waitpid(pid, NULL, 0) == pid ? 0 : 1);
    }
    (void)close(out[1]);
    (void)close(err[1]);
    (void)read_to_end(out[0], text, sizeof(text));
    assert_string_equal(text, "out\n");
    (void)read_to_end(err[0], text, sizeof(text));
    assert_string_equal(text, "err\n");
    assert_exits(launcher, 0);
}

static void test_child_dies_with_its_launcher(void **state)
{
    int ends[2];
    char text[64];
    pid_t launcher;

    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    launcher = fork();
    if (launcher == 0) {
        char *const *argv = ARGV((char *)"sh", (char *)"-c", (char *)"echo; exec sleep 600");
        pid_t pid = child_spawn(
            &(struct child_spec){argv, plain_env, NULL, .out = ends[1], .err = -1}, NULL);

        (void)close(ends[1]);
        _exit(pid > 0 && pause() ? 1 : 2);
    }
    (void)close(ends[1]);
    (void)read_byte(ends[0]);
    (void)kill(launcher, SIGKILL);
    (void)status_of(launcher);
    assert_int_equal(read_to_end(ends[0], text, sizeof(text)), 0);
}

static void test_child_works_in_its_folder_and_finds_relative_path_entries_there(void **state)
{
    char *const env[] = {(char *)"PATH=nowhere:bin", NULL};
    char *const *argv = ARGV((char *)"here.sh");
    auto_free char *bin = path_join(folder, "bin");
    auto_free char *script = NULL;
    char text[PATH_MAX];
    int read_end = -1, write_end = -1;
    pid_t pid;

    (void)state;
    assert_int_equal(folder_make(bin), 0);
    script = write_script("bin/here.sh", "#!/bin/sh\npwd -P\n", 0755);
    assert_int_equal(child_pipe(65536, &read_end, &write_end), 0);
    pid = child_spawn(&(struct child_spec){argv, env, folder, .out = write_end, .err = -1}, NULL);
    assert_true(pid > 0);
    (void)close(write_end);
    (void)read_to_end(read_end, text, sizeof(text));
    text[strcspn(text, "\n")] = '\0';
    assert_string_equal(text, folder);
    assert_exits(pid, 0);
}

static void test_child_spawn_prefers_a_program_over_a_file_on_path(void **state)
{
    auto_free char *path = mem_printf("PATH=%s/first:%s/second", folder, folder);
    auto_free char *first = path_join(folder, "first");
    auto_free char *second = path_join(folder, "second");
    auto_free char *text = NULL, *program = NULL, *wanted = NULL;
    char *const env[] = {path, NULL};
    pid_t pid;

    (void)state;
    assert_int_equal(folder_make(first), 0);
    assert_int_equal(folder_make(second), 0);
    text = write_script("first/tool", "no program\n", 0644);
    assert_refused(&(struct child_spec){ARGV((char *)"tool"), env, NULL, -1, -1}, BLAME_USER,
                   -EACCES, "exec of tool: Permission denied");
    program = write_script("second/tool", "#!/bin/sh\nexit 5\n", 0755);
    pid = child_spawn(&(struct child_spec){ARGV((char *)"tool"), env, NULL, -1, -1}, NULL);
    assert_exits(pid, 5);
    wanted = mem_printf("exec of nonesuch: not found on PATH (%s)", path + 5);
    assert_refused(&(struct child_spec){ARGV((char *)"nonesuch"), env, NULL, -1, -1}, BLAME_USER,
                   -ENOENT, wanted);
}

static const struct script_case {
    const char *name, *text;
    mode_t mode;
    int code;
    const char *sentence;
} script_cases[] = {
    {"locked.sh", "#!/bin/sh\n",               0644, -EACCES,  "exec of ./locked.sh: Permission denied"},
    {"lost.sh",   "#! /no/such/sh -e\nexit\n", 0755, -ENOENT,
     "exec of ./lost.sh: the interpreter of its \"#!\" line, /no/such/sh, is not there"                },
    {"dos.sh",    "#!/bin/sh\r\nexit\r\n",     0755, -ENOENT,
     "exec of ./dos.sh: its lines end in CR LF, so that the \"#!\" line names no interpreter; save "
     "it with LF"                                                                                      },
    {"bare.sh",   "echo hello\n",              0755, -ENOEXEC,
     "exec of ./bare.sh: Exec format error: no program for this machine, and a script without a "
     "\"#!\" line"                                                                                     },
    {"empty.sh",  "",                          0755, -ENOEXEC,
     "exec of ./empty.sh: Exec format error: no program for this machine, and a script without a "
     "\"#!\" line"                                                                                     },
};

static void test_child_spawn_says_why_a_script_cannot_run(void **state)
{
    (void)state;
    for (size_t i = 0; i < LENGTH(script_cases); i++) {
        const struct script_case *c = &script_cases[i];
        auto_free char *path = write_script(c->name, c->text, c->mode);
        auto_free char *name = mem_printf("./%s", c->name);

        assert_refused(&(struct child_spec){ARGV(name), plain_env, folder, -1, -1}, BLAME_USER,
                       c->code, c->sentence);
        assert_int_equal(unlink(path), 0);
    }
}

static void test_child_spawn_names_what_is_not_there(void **state)
{
    auto_free char *in_folder =
        mem_printf("exec of ./gone: No such file or directory (in %s)", folder);
    auto_free char *no_folder =
        mem_printf("exec of true: its working folder %s/none: No such file or directory", folder);
    auto_free char *none = path_join(folder, "none");
    auto_free char *file = write_script("file", "", 0644);
    auto_free char *through = mem_printf("%s/x", file);
    auto_free char *not_folder = mem_printf("exec of %s: Not a directory", through);
    auto_free char *a_folder = mem_printf("exec of %s: Permission denied", folder);

    (void)state;
    assert_refused(&(struct child_spec){ARGV((char *)"./gone"), plain_env, folder, -1, -1},
                   BLAME_USER, -ENOENT, in_folder);
    assert_refused(&(struct child_spec){ARGV((char *)"/no/gone"), plain_env, folder, -1, -1},
                   BLAME_USER, -ENOENT, "exec of /no/gone: No such file or directory");
    assert_refused(&(struct child_spec){ARGV((char *)"true"), plain_env, none, -1, -1}, BLAME_USER,
                   -ENOENT, no_folder);
    assert_refused(&(struct child_spec){ARGV(through), plain_env, NULL, -1, -1}, BLAME_USER,
                   -ENOTDIR, not_folder);
    assert_refused(&(struct child_spec){ARGV(folder), plain_env, NULL, -1, -1}, BLAME_USER, -EACCES,
                   a_folder);
}

static void test_child_spawn_tells_the_size_of_a_command_that_is_too_long(void **state)
{
    auto_free char *big = mem_zero(200001);
    char *const argv[] = {(char *)"true", big, NULL};
    struct err err = ERR_INIT;

    (void)state;
    memset(big, 'x', 200000);
    assert_int_equal(child_spawn(&(struct child_spec){argv, plain_env, NULL, -1, -1}, &err),
                     -E2BIG);
    assert_non_null(strstr(err.text, "the longest string of them 200001"));
    assert_int_equal(err.blame, BLAME_USER);
}

static void test_child_spawn_blames_the_platform_for_a_lack_of_descriptors(void **state)
{
    struct rlimit before, few;
    struct err err = ERR_INIT;
    pid_t pid;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = before;
    few.rlim_cur = 4;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    pid = child_spawn(&(struct child_spec){ARGV((char *)"true"), plain_env, NULL, -1, -1}, &err);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(pid, -EMFILE);
    assert_int_equal(err.blame, BLAME_PLATFORM);
    assert_string_equal(err.text, "starting true: Too many open files");
}

static void test_child_spawn_leaves_no_descriptor_open(void **state)
{
    int before = dup(0), after;

    (void)state;
    (void)close(before);
    assert_exits(spawn(ARGV((char *)"true"), -1, -1), 0);
    (void)child_spawn(&(struct child_spec){ARGV((char *)"/no/gone"), plain_env, NULL, -1, -1},
                      NULL);
    after = dup(0);
    (void)close(after);
    assert_int_equal(before, after);
}

static void test_child_has_the_limit_of_descriptors_that_was_before_ours_was_raised(void **state)
{
    struct rlimit before, raised;
    char text[32];

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    before.rlim_cur = 100;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    child_raise_limit();
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &raised), 0);
    assert_int_equal(raised.rlim_cur, before.rlim_max);
    output_of(ARGV((char *)"sh", (char *)"-c", (char *)"ulimit -Sn"), text, sizeof(text));
    assert_string_equal(text, "100\n");
}

static void test_child_pipe_is_as_asked(void **state)
{
    int read_end = -1, write_end = -1;

    (void)state;
    assert_int_equal(child_pipe(262144, &read_end, &write_end), 0);
    assert_int_equal(fcntl(read_end, F_GETPIPE_SZ), 262144);
    assert_int_equal(fcntl(read_end, F_GETFD), FD_CLOEXEC);
    assert_int_equal(fcntl(write_end, F_GETFD), FD_CLOEXEC);
    assert_int_equal(fcntl(read_end, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
    assert_int_equal(fcntl(write_end, F_GETFL) & O_NONBLOCK, 0);
    (void)close(read_end);
    (void)close(write_end);
    assert_int_equal(child_pipe(INT_MAX, &read_end, &write_end), 0); /* more than there can be */
    assert_true(fcntl(read_end, F_GETPIPE_SZ) >= 65536);
    (void)close(read_end);
    (void)close(write_end);
}

static int make_folder(void **state)
{
    (void)state;
    (void)alarm(30);
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    pid_t pid = spawn(ARGV((char *)"rm", (char *)"-rf", (char *)"--", folder), -1, -1);

    (void)state;
    return waitpid(pid, NULL, 0) == pid ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_child_has_clean_signals_and_its_own_session),
        cmocka_unit_test(test_child_has_no_descriptor_above_2),
        cmocka_unit_test(test_child_reads_nothing),
        cmocka_unit_test(test_child_gets_out_and_err_whatever_their_numbers),
        cmocka_unit_test(test_child_dies_with_its_launcher),
        cmocka_unit_test(test_child_works_in_its_folder_and_finds_relative_path_entries_there),
        cmocka_unit_test(test_child_spawn_prefers_a_program_over_a_file_on_path),
        cmocka_unit_test(test_child_spawn_says_why_a_script_cannot_run),
        cmocka_unit_test(test_child_spawn_names_what_is_not_there),
        cmocka_unit_test(test_child_spawn_tells_the_size_of_a_command_that_is_too_long),
        cmocka_unit_test(test_child_spawn_blames_the_platform_for_a_lack_of_descriptors),
        cmocka_unit_test(test_child_spawn_leaves_no_descriptor_open),
        cmocka_unit_test(test_child_has_the_limit_of_descriptors_that_was_before_ours_was_raised),
        cmocka_unit_test(test_child_pipe_is_as_asked),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
