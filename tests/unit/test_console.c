/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "run/console.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "procs.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define MORE_THAN_FULL (CONSOLE_FULL + 1000)

static uv_loop_t loop;
static unsigned rooms;

static void on_room(void *data)
{
    assert_ptr_equal(data, &rooms);
    rooms++;
}

static int set_up(void **state)
{
    (void)state;
    (void)signal(SIGPIPE, SIG_IGN);
    (void)alarm(60); /* a write that blocks ends the test */
    rooms = 0;
    return uv_loop_init(&loop);
}

static int tear_down(void **state)
{
    (void)state;
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    return uv_loop_close(&loop);
}

static struct console *open_on(int fd)
{
    return console_open(&loop, fd, on_room, &rooms);
}

static void make_pipe(int *ends)
{
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
}

/* Numbered bytes, so that each lost or moved one shows. */
static char *pattern(size_t n)
{
    char *bytes = mem_zero(n);

    for (size_t i = 0; i < n; i++)
        bytes[i] = (char)(i * 7 + i / 251);
    return bytes;
}

static size_t read_some(int fd, char *out, size_t size)
{
    ssize_t n = read(fd, out, size);

    assert_true(n >= 0 || errno == EAGAIN || errno == EIO);
    return n > 0 ? (size_t)n : 0;
}

/* Reads `n` bytes while the loop runs, and compares. */
static void expect_all(int fd, const char *bytes, size_t n)
{
    auto_free char *got = mem_zero(n + 1);

    for (size_t at = 0; at < n;) {
        struct pollfd look = {.fd = fd, .events = POLLIN};

        (void)uv_run(&loop, UV_RUN_NOWAIT);
        assert_int_equal(poll(&look, 1, PROCS_LIMIT_MS), 1);
        at += read_some(fd, got + at, n + 1 - at);
    }
    assert_memory_equal(got, bytes, n);
}

static void test_goes_out_before_the_loop_waits(void **state)
{
    int ends[2];
    struct console *c;

    (void)state;
    make_pipe(ends);
    c = open_on(ends[1]);
    console_write(c, "one\n", 4);
    console_write(c, "two\n", 4);
    (void)uv_run(&loop, UV_RUN_DEFAULT); /* ends: nothing keeps the loop */
    assert_int_equal(console_pending(c), 0);
    assert_int_not_equal(console_progress_ms(c), 0);
    expect_all(ends[0], "one\ntwo\n", 8);
    console_close(c);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

static void test_slow_reader_fills_it_and_makes_room(void **state)
{
    auto_free char *bytes = pattern(2 * MORE_THAN_FULL);
    int ends[2];
    struct console *c;

    (void)state;
    make_pipe(ends);
    c = open_on(ends[1]);
    for (size_t at = 0; at < 2 * MORE_THAN_FULL; at += 1000)
        console_write(c, bytes + at,
                      at + 1000 < 2 * MORE_THAN_FULL ? 1000 : 2 * MORE_THAN_FULL - at);
    assert_true(console_is_full(c));
    assert_int_equal(rooms, 0);
    expect_all(ends[0], bytes, 2 * MORE_THAN_FULL);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(console_pending(c), 0);
    assert_false(console_is_full(c));
    assert_true(rooms >= 1);
    console_close(c);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

static void test_a_reader_that_left_harms_nobody(void **state)
{
    auto_free char *bytes = pattern(MORE_THAN_FULL);
    int ends[2];
    struct console *c;

    (void)state;
    make_pipe(ends);
    c = open_on(ends[1]);
    console_write(c, bytes, MORE_THAN_FULL);
    assert_true(console_pending(c) > 0);
    (void)close(ends[0]);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(console_pending(c), 0);
    assert_true(console_lost(c) > 0);
    assert_true(rooms >= 1);
    console_write(c, bytes, MORE_THAN_FULL);
    assert_false(console_is_full(c));
    console_close(c);
    (void)close(ends[1]);
}

static void test_no_reader_from_the_start(void **state)
{
    int ends[2];
    struct console *c;

    (void)state;
    make_pipe(ends);
    (void)close(ends[0]);
    c = open_on(ends[1]);
    console_write(c, "x\n", 2);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(console_lost(c), 2);
    console_close(c);
    (void)close(ends[1]);
}

static void test_a_closed_descriptor_swallows(void **state)
{
    int fd = dup(STDERR_FILENO);
    struct console *c;

    (void)state;
    (void)close(fd);
    c = open_on(fd);
    console_write(c, "x\n", 2);
    console_flush(c);
    assert_int_equal(console_lost(c), 2);
    console_close(c);
}

static void test_a_full_device_swallows(void **state)
{
    int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
    struct console *c = open_on(fd);

    (void)state;
    console_write(c, "x\n", 2);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(console_pending(c), 0);
    assert_int_equal(console_lost(c), 2);
    console_close(c);
    (void)close(fd);
}

static void test_socket_with_a_slow_reader_stays_blocking_for_others(void **state)
{
    auto_free char *bytes = pattern(MORE_THAN_FULL);
    int ends[2];
    struct console *c;

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    c = open_on(ends[1]);
    console_write(c, bytes, MORE_THAN_FULL);
    assert_true(console_pending(c) > 0);
    (void)uv_run(&loop, UV_RUN_NOWAIT);
    assert_false(fcntl(ends[1], F_GETFL) & O_NONBLOCK);
    expect_all(ends[0], bytes, MORE_THAN_FULL);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(console_pending(c), 0);
    (void)close(ends[0]);
    console_write(c, "x\n", 2);
    console_flush(c);
    assert_int_equal(console_lost(c), 2);
    console_close(c);
    (void)close(ends[1]);
}

static void test_pipe_stays_blocking_for_others(void **state)
{
    int ends[2];
    struct console *c;

    (void)state;
    make_pipe(ends);
    c = open_on(ends[1]);
    console_write(c, "x\n", 2);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    assert_false(fcntl(ends[1], F_GETFL) & O_NONBLOCK);
    console_close(c);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

static void test_regular_file_is_shared_with_others_who_write_it(void **state)
{
    char path[] = "/tmp/serried-console-XXXXXX", text[16] = "";
    int fd = mkstemp(path);
    struct console *c = open_on(fd);

    (void)state;
    (void)unlink(path);
    assert_int_equal(write(fd, "one\n", 4), 4);
    console_write(c, "two\n", 4);
    console_flush(c);
    assert_int_equal(write(fd, "three\n", 6), 6);
    assert_int_equal(pread(fd, text, sizeof(text) - 1, 0), 14);
    assert_string_equal(text, "one\ntwo\nthree\n");
    console_close(c);
    (void)close(fd);
}

/* As after su: the pipe belongs to somebody else. What is left is to look before each write. */
static void test_pipe_that_cannot_be_opened_anew(void **state)
{
    auto_free char *bytes = pattern(MORE_THAN_FULL);
    bool is_root = geteuid() == 0;
    int ends[2];
    struct console *c;

    (void)state;
    make_pipe(ends);
    assert_int_equal(fchmod(ends[1], 0), 0);
    assert_int_equal(is_root ? seteuid(65534) : 0, 0);
    c = open_on(ends[1]);
    assert_int_equal(is_root ? seteuid(0) : 0, 0);
    console_write(c, bytes, MORE_THAN_FULL);
    assert_true(console_pending(c) > 0);
    assert_false(fcntl(ends[1], F_GETFL) & O_NONBLOCK);
    expect_all(ends[0], bytes, MORE_THAN_FULL);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(console_pending(c), 0);
    console_close(c);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

static void test_terminal_is_opened_anew(void **state)
{
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), slave;
    auto_free char *bytes = NULL;
    struct console *c;

    (void)state;
    assert_true(master >= 0 && unlockpt(master) == 0);
    slave = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(slave >= 0);
    bytes = mem_zero(MORE_THAN_FULL);
    memset(bytes, 'x', MORE_THAN_FULL);
    c = open_on(slave);
    console_write(c, bytes, MORE_THAN_FULL); /* nobody reads the terminal, and we go on */
    assert_true(console_pending(c) > 0);
    assert_false(fcntl(slave, F_GETFL) & O_NONBLOCK);
    expect_all(master, bytes, MORE_THAN_FULL);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(console_pending(c), 0);
    console_close(c);
    (void)close(slave);
    (void)close(master);
}

static void test_giving_up_counts_what_is_lost(void **state)
{
    auto_free char *bytes = pattern(MORE_THAN_FULL);
    int ends[2];
    struct console *c;
    size_t pending;

    (void)state;
    make_pipe(ends);
    c = open_on(ends[1]);
    console_write(c, bytes, MORE_THAN_FULL);
    pending = console_pending(c);
    assert_true(pending > 0);
    console_give_up(c);
    assert_int_equal(console_lost(c), pending);
    assert_int_equal(console_pending(c), 0);
    (void)uv_run(&loop, UV_RUN_DEFAULT); /* nothing waits for the reader any more */
    console_close(c);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

static void test_memory_has_a_bound(void **state)
{
    auto_free char *bytes = pattern(1 << 20);
    int ends[2];
    struct console *c;

    (void)state;
    make_pipe(ends);
    c = open_on(ends[1]);
    for (int i = 0; i < 80; i++)
        console_write(c, bytes, 1 << 20);
    assert_true(console_pending(c) <= CONSOLE_MAX);
    assert_int_not_equal(console_lost(c), 0);
    console_close(c);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_goes_out_before_the_loop_waits),
        TEST(test_slow_reader_fills_it_and_makes_room),
        TEST(test_a_reader_that_left_harms_nobody),
        TEST(test_no_reader_from_the_start),
        TEST(test_a_closed_descriptor_swallows),
        TEST(test_a_full_device_swallows),
        TEST(test_socket_with_a_slow_reader_stays_blocking_for_others),
        TEST(test_pipe_stays_blocking_for_others),
        TEST(test_regular_file_is_shared_with_others_who_write_it),
        TEST(test_pipe_that_cannot_be_opened_anew),
        TEST(test_terminal_is_opened_anew),
        TEST(test_giving_up_counts_what_is_lost),
        TEST(test_memory_has_a_bound),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
