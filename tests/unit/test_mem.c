/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void test_zero_bytes_give_a_pointer_to_free(void **state)
{
    (void)state;
    void *empty = mem_zero(0);
    void *grown = mem_grow(NULL, 0, 8);

    assert_non_null(empty);
    assert_non_null(grown);
    free(empty);
    free(grown);
}

static void test_copies_and_prints(void **state)
{
    (void)state;
    char *part = mem_dup_n("abcdef", 3);
    char *none = mem_dup_n(NULL, 0);
    char *printed = mem_printf("%s-%d", "x", 7);

    assert_null(mem_dup(NULL));
    assert_string_equal(part, "abc");
    assert_string_equal(none, "");
    assert_string_equal(printed, "x-7");
    free(part);
    free(none);
    free(printed);
}

static void report(void)
{
    (void)!write(STDOUT_FILENO, "hook", 4);
}

/* The status of a child that runs `cause` with standard error closed; what it wrote to *said. */
static int status_of(void (*cause)(void), char *said, size_t size)
{
    int pipe_fds[2];
    int status = 0;
    pid_t pid;
    ssize_t n;

    assert_int_equal(pipe(pipe_fds), 0);
    pid = fork();
    if (pid == 0) {
        (void)dup2(pipe_fds[1], STDOUT_FILENO);
        (void)close(STDERR_FILENO);
        mem_on_failure(report);
        cause();
        _exit(0);
    }
    (void)close(pipe_fds[1]);
    n = read(pipe_fds[0], said, size - 1);
    assert_true(n >= 0);
    said[n] = '\0';
    (void)close(pipe_fds[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void overflow(void)
{
    free(mem_grow(NULL, SIZE_MAX / 2, 3));
}

static void other_library(void)
{
    (void)mem_check(NULL);
}

static void test_failure_runs_the_hook_and_ends_with_70_even_without_standard_error(void **state)
{
    (void)state;
    char said[16];

    assert_int_equal(status_of(overflow, said, sizeof(said)), 70);
    assert_string_equal(said, "hook");
    assert_int_equal(status_of(other_library, said, sizeof(said)), 70);
    assert_string_equal(said, "hook");
}

#define LITTLE ((size_t)64 << 20) /* of address space */
#define CHUNK  ((size_t)32 << 10)

static void report_at_length(void)
{
    char *text = mem_zero(MEM_RESERVE / 2);

    memcpy(text, "at length", 9);
    (void)!write(STDOUT_FILENO, text, 9);
    free(text);
}

static void use_all(void)
{
    struct rlimit limit = {LITTLE, LITTLE};
    void *chain = NULL;

    mem_on_failure(report_at_length);
    (void)setrlimit(RLIMIT_AS, &limit);
    for (;;) {
        void **link = mem_zero(CHUNK);

        *link = chain;
        chain = (void *)link;
    }
}

static void test_failure_leaves_memory_for_the_hook(void **state)
{
    (void)state;
    char said[16];

#ifdef HAVE_SANITIZER
    skip(); /* it has its own way with memory */
#endif
    assert_int_equal(status_of(use_all, said, sizeof(said)), 70);
    assert_string_equal(said, "at length");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_zero_bytes_give_a_pointer_to_free),
        cmocka_unit_test(test_copies_and_prints),
        cmocka_unit_test(test_failure_runs_the_hook_and_ends_with_70_even_without_standard_error),
        cmocka_unit_test(test_failure_leaves_memory_for_the_hook),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
