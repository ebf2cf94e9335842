/* SPDX-License-Identifier: Apache-2.0
 *
 * procs - what tests with real processes share: waits that have a deadline, and never sleep. */
#ifndef TESTS_PROCS_H
#define TESTS_PROCS_H
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define PROCS_LIMIT_MS 10000

/* Reads until the other side has closed the pipe; `fd` is closed, `text` NUL-ended. */
static inline size_t read_to_end(int fd, char *text, size_t size)
{
    size_t used = 0;

    for (;;) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        ssize_t n;

        assert_true(poll(&p, 1, PROCS_LIMIT_MS) == 1 || errno == EINTR);
        n = read(fd, text + used, size - 1 - used);
        if (n < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        assert_true(n >= 0);
        if (n == 0)
            break;
        used += (size_t)n;
        assert_true(used < size - 1);
    }
    text[used] = '\0';
    (void)close(fd);
    return used;
}

/* Waits until there is something to read. */
static inline char read_byte(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    char c = 0;

    assert_int_equal(poll(&p, 1, PROCS_LIMIT_MS), 1);
    assert_int_equal(read(fd, &c, 1), 1);
    return c;
}

/* Waits until our child `pid` is dead; it stays for waitpid(). The test's alarm() is the limit. */
static inline void await_death(pid_t pid)
{
    siginfo_t info;

    while (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) < 0)
        assert_int_equal(errno, EINTR);
}

/* The status of our child `pid`, as waitpid() has it. */
static inline int status_of(pid_t pid)
{
    int status = 0;

    await_death(pid);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

/* For forked children, where cmocka's asserts would go on with the next test. */
#define insist(what)                                                                               \
    do {                                                                                           \
        if (!(what)) {                                                                             \
            (void)fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what);                       \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

#define assert_exits(pid, code)                                                                    \
    do {                                                                                           \
        int status_ = status_of(pid);                                                              \
        assert_true(WIFEXITED(status_));                                                           \
        assert_int_equal(WEXITSTATUS(status_), code);                                              \
    } while (0)
#endif
