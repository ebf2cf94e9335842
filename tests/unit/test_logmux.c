/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "run/logmux.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/files.h"
#include "base/log.h"
#include "base/mem.h"
#include "procs.h"
#include "run/console.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define ERR        true
#define OUT        false
#define PIPE_BYTES (256 << 10)

static char folder[] = "/tmp/serried-logmux-XXXXXX";

static struct {
    uv_loop_t loop;
    struct settings set;
    struct logmux *mux;
    int out[2], err[2];     /* our standard output and error: pipes that the test reads */
    struct buf seen, other; /* what came out of them */
    bool blind;             /* the test does not read them */
    unsigned eofs;
    bool done;
} t;

static int set_up(void **state)
{
    static char all[] = "all", automatic[] = "auto", text[] = "text";

    (void)state;
    (void)signal(SIGPIPE, SIG_IGN);
    (void)alarm(120); /* whatever blocks ends the test */
    memset(&t, 0, sizeof(t));
    t.set = (struct settings){.log_format = text,
                              .log_prefix = automatic,
                              .log_ranks = all,
                              .log_line_max = 65536,
                              .log_file_max = 1 << 20,
                              .log_progress_per_s = 10};
    assert_int_equal(pipe2(t.out, O_CLOEXEC), 0);
    assert_int_equal(pipe2(t.err, O_CLOEXEC), 0);
    assert_int_equal(fcntl(t.out[0], F_SETFL, O_NONBLOCK), 0);
    assert_int_equal(fcntl(t.err[0], F_SETFL, O_NONBLOCK), 0);
    return uv_loop_init(&t.loop);
}

static void open_mux(void)
{
    t.mux = logmux_open_to(&t.loop, &t.set, true, t.out[1], t.err[1]);
    log_to(logmux_own_line, t.mux);
}

static int tear_down(void **state)
{
    (void)state;
    log_to(NULL, NULL);
    logmux_close(t.mux);
    (void)uv_run(&t.loop, UV_RUN_DEFAULT);
    for (size_t i = 0; i < 2; i++) {
        (void)close(t.out[i]);
        (void)close(t.err[i]);
    }
    buf_done(&t.seen);
    buf_done(&t.other);
    return uv_loop_close(&t.loop);
}

static void on_eof(void *data)
{
    (void)data;
    t.eofs++;
}

/* The writing end of a new stream. */
static int add(unsigned rank, bool is_err, const char *path, struct log_stream **stream)
{
    struct log_stream *s;
    int ends[2];

    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
    assert_true(fcntl(ends[0], F_SETPIPE_SZ, PIPE_BYTES) >= PIPE_BYTES);
    s = logmux_add(t.mux, &(struct log_source){.host = "algo-1",
                                               .rank = rank,
                                               .is_err = is_err,
                                               .fd = ends[0],
                                               .path = mem_dup(path),
                                               .on_eof = on_eof});
    if (stream)
        *stream = s;
    return ends[1];
}

static bool take(int fd, struct buf *into)
{
    char chunk[65536];
    ssize_t n = read(fd, chunk, sizeof(chunk));

    if (n > 0)
        buf_add(into, chunk, (size_t)n);
    return n > 0;
}

static bool take_both(void)
{
    bool out = take(t.out[0], &t.seen), err = take(t.err[0], &t.other);

    return out || err;
}

/* Runs the loop, and reads what comes out, until `is_so`; waits for events, not for time. */
static void run_until(bool (*is_so)(void))
{
    uint64_t end = clock_ms() + PROCS_LIMIT_MS;

    while (!is_so()) {
        struct pollfd fds[3] = {
            {.fd = uv_backend_fd(&t.loop),  .events = POLLIN},
            {.fd = t.blind ? -1 : t.out[0], .events = POLLIN},
            {.fd = t.blind ? -1 : t.err[0], .events = POLLIN}
        };
        int wait;

        assert_true(clock_ms() < end);
        (void)uv_run(&t.loop, UV_RUN_NOWAIT);
        (void)uv_run(&t.loop, UV_RUN_NOWAIT); /* what it would do before it waits */
        if (!t.blind && take_both())
            continue;
        if (is_so())
            break;
        wait = uv_backend_timeout(&t.loop);
        (void)poll(fds, LENGTH(fds), wait < 0 || wait > 1000 ? 1000 : wait);
    }
}

static size_t wanted;

static bool has_seen(void)
{
    return t.seen.len >= wanted;
}

static bool has_other(void)
{
    return t.other.len >= wanted;
}

static void expect_in(struct buf *b, bool (*is_so)(void), const char *text, size_t n)
{
    wanted = n;
    run_until(is_so);
    assert_int_equal(b->len, n);
    assert_memory_equal(b->data, text, n);
    buf_clear(b);
}

static void expect_out(const char *text)
{
    expect_in(&t.seen, has_seen, text, strlen(text));
}

static void expect_err(const char *text)
{
    expect_in(&t.other, has_other, text, strlen(text));
}

static unsigned want_eofs;

static bool has_ended(void)
{
    return t.eofs >= want_eofs;
}

static void run_until_eofs(unsigned n)
{
    want_eofs = n;
    run_until(has_ended);
}

static void put(int fd, const char *text)
{
    assert_int_equal(fd_write_all(fd, text, strlen(text)), 0);
}

/* Lets the mux read what was put, one event at a time. */
static void put_torn(int fd, const char *text)
{
    for (; *text; text++) {
        assert_int_equal(write(fd, text, 1), 1);
        (void)uv_run(&t.loop, UV_RUN_NOWAIT);
    }
}

static void test_torn_writes_come_out_as_whole_lines(void **state)
{
    int a, b;

    (void)state;
    open_mux();
    a = add(0, OUT, NULL, NULL);
    b = add(1, OUT, NULL, NULL);
    put_torn(a, "gr\xc3\xb6\xc3\x9f");
    put_torn(b, "part");
    put_torn(a, "e\xe2\x82\xac\n");
    put_torn(b, "ial\n\n");
    expect_out("[algo-1:0] gr\xc3\xb6\xc3\x9f"
               "e\xe2\x82\xac\n[algo-1:1] partial\n[algo-1:1] \n");
    (void)close(a);
    put(b, "end");
    (void)close(b);
    expect_out("[algo-1:1] end\n");
    assert_int_equal(t.eofs, 2);
}

static void test_streams_are_kept_apart(void **state)
{
    int out, err;

    (void)state;
    open_mux();
    out = add(2, OUT, NULL, NULL);
    err = add(2, ERR, NULL, NULL);
    put(out, "out\n");
    put(err, "err\n");
    expect_out("[algo-1:2] out\n");
    expect_err("[algo-1:2] err\n");
    log_info("of our own");
    expect_err("serried: of our own\n");
    (void)close(out);
    (void)close(err);
}

static void test_without_a_prefix_output_equals_input(void **state)
{
    static const char bytes[] = "\n\tindented\n    more\n\n\xff\xfe\0\x80\033[1mx\033[0m\nlast\n";
    static char off[] = "off";
    int a;

    (void)state;
    t.set.log_prefix = off;
    open_mux();
    a = add(0, OUT, NULL, NULL);
    assert_int_equal(write(a, bytes, sizeof(bytes) - 1), sizeof(bytes) - 1);
    expect_in(&t.seen, has_seen, bytes, sizeof(bytes) - 1);
    (void)close(a);
}

static void test_a_step_is_named(void **state)
{
    int ends[2];

    (void)state;
    open_mux();
    assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    (void)logmux_add(t.mux,
                     &(struct log_source){.host = "algo-1", .step = "install", .fd = ends[0]});
    put(ends[1], "Collecting numpy\n");
    expect_out("[algo-1:install] Collecting numpy\n");
    (void)close(ends[1]);
}

static void test_json_lines(void **state)
{
    static char json[] = "json";
    int a;

    (void)state;
    t.set.log_format = json;
    t.set.log_line_max = 256;
    open_mux();
    a = add(3, OUT, NULL, NULL);
    put(a, "he said \"\xff\"\n");
    wanted = 40;
    run_until(has_seen);
    assert_true(strncmp(t.seen.data, "{\"time\":\"2", 10) == 0);
    assert_non_null(strstr(t.seen.data, "\"host\":\"algo-1\",\"rank\":3,\"stream\":\"stdout\","
                                        "\"line\":\"he said \\\"\xef\xbf\xbd\\\"\"}\n"));
    (void)close(a);
}

/* Lines as the console shows them, without prefixes of rank `rank` and cuts; NULL: a mixed line. */
static char *joined(const char *text, unsigned rank)
{
    auto_free char *prefix = mem_printf("[algo-1:%u] ", rank);
    struct buf out = {0};
    bool goes_on = false;

    while (*text) {
        size_t n = strcspn(text, "\n");

        if (!strncmp(text, prefix, strlen(prefix))) {
            const char *from = text + strlen(prefix) + goes_on;

            if (goes_on)
                assert_int_equal(from[-1], '\\');
            goes_on = text[n - 1] == '\\';
            buf_add(&out, from, (size_t)(text + n - from) - goes_on);
            if (!goes_on)
                buf_char(&out, '\n');
        }
        text += n + 1;
    }
    return buf_take(&out);
}

static pid_t write_in_child(int fd, const char *bytes, size_t n)
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0)
        _exit(fd_write_all(fd, bytes, n) ? 1 : 0);
    (void)close(fd);
    return pid;
}

static void expect_success(pid_t pid)
{
    int status = -1;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void test_lines_beyond_the_limit_join_to_the_original(void **state)
{
    auto_free char *line = mem_zero(300002);
    auto_free char *first = NULL, *second = NULL;
    pid_t children[2];

    (void)state;
    for (size_t i = 0; i + 3 <= 300000; i += 3)
        memcpy(line + i, i % 7 ? "\xe2\x82\xac" : "abc", 3);
    line[300000] = '\n';
    open_mux();
    for (unsigned i = 0; i < 2; i++)
        children[i] = write_in_child(add(i, OUT, NULL, NULL), line, 300001);
    run_until_eofs(2);
    wanted = 2UL * (300001 + 4 * 13 + 11 + 4);
    run_until(has_seen);
    first = joined(t.seen.data, 0);
    second = joined(t.seen.data, 1);
    assert_string_equal(first, line);
    assert_string_equal(second, line);
    expect_success(children[0]);
    expect_success(children[1]);
}

static void test_a_progress_bar_is_seen_while_it_runs(void **state)
{
    int a;

    (void)state;
    open_mux();
    a = add(0, OUT, NULL, NULL);
    put(a, "\r 10%\r 20%\r 30%\r 40%");
    expect_out("[algo-1:0]  10%\n[algo-1:0]  30%\n"); /* the second when its time has come */
    (void)close(a);
    expect_out("[algo-1:0]  40%\n");
}

static void test_files_have_the_original_bytes_hidden_or_not(void **state)
{
    static const char text[] = "\r 10%\r 20%\r\nno end";
    static char only_0[] = "0";
    auto_free char *path = mem_printf("%s/logs/7.out", folder);
    auto_free char *logs = mem_printf("%s/logs", folder);
    auto_free char *file = NULL;
    struct log_stream *s;
    int shown, hidden;
    size_t len;

    (void)state;
    t.set.log_ranks = only_0;
    open_mux();
    shown = add(0, OUT, NULL, NULL);
    hidden = add(7, OUT, path, &s);
    put_torn(hidden, text);
    (void)close(hidden);
    put(shown, "shown\n");
    run_until_eofs(1);
    expect_out("[algo-1:0] shown\n");
    file = file_read(path, 1000, &len, NULL);
    assert_int_equal(len, strlen(text));
    assert_memory_equal(file, text, len);
    (void)unlink(path);
    (void)rmdir(logs);
    (void)close(shown);
}

static void test_the_last_lines_of_a_hidden_rank_are_shown_when_it_failed(void **state)
{
    static char only_0[] = "0";
    struct buf expected = {0};
    struct log_stream *hidden, *shown;
    int a, b;

    (void)state;
    t.set.log_ranks = only_0;
    open_mux();
    a = add(3, OUT, NULL, &hidden);
    b = add(0, OUT, NULL, &shown);
    for (unsigned i = 0; i < 100; i++) {
        auto_free char *line = mem_printf("line %u\n", i);

        put(a, line);
        if (i >= 80)
            buf_printf(&expected, "[algo-1:3] %s", line);
    }
    (void)close(a);
    (void)close(b);
    run_until_eofs(2);
    logmux_show_tail(t.mux, shown); /* was not hidden: nothing to add */
    logmux_show_tail(t.mux, hidden);
    expect_out(expected.data);
    buf_done(&expected);
}

static void test_tail_total_and_time_of_the_traceback(void **state)
{
    auto_free char *tail = NULL;
    struct log_stream *s;
    uint64_t before = clock_ms();
    size_t len;
    int a;

    (void)state;
    open_mux();
    a = add(0, ERR, NULL, &s);
    put_torn(a, "fine\n");
    assert_int_equal(logmux_error_ms(s), 0);
    put_torn(a, "Traceback (most recent call last):\nValueError\n");
    (void)close(a);
    run_until_eofs(1);
    tail = logmux_tail(s, &len);
    assert_string_equal(tail, "fine\nTraceback (most recent call last):\nValueError\n");
    assert_int_equal(logmux_total(s), len);
    assert_in_range(logmux_error_ms(s), before, clock_ms());
    assert_in_range(logmux_last_ms(s), logmux_error_ms(s), clock_ms());
}

static struct log_stream *flood; /* of lines of 10 bytes; 21 with the prefix */

/* Our own output, a pipe of 64 KiB that nobody reads, and the console before it are full. */
static bool is_full(void)
{
    return logmux_total(flood) / 10 * 21 >= CONSOLE_FULL + 65536;
}

/* Rank 0 writes CONSOLE_FULL bytes and ends, while nobody reads: they are partly in the console and
 * partly in the rank's pipe. */
static void flood_out(struct buf *bytes)
{
    pid_t child;

    while (bytes->len < CONSOLE_FULL)
        buf_str(bytes, "some line\n");
    child = write_in_child(add(0, OUT, NULL, &flood), bytes->data, bytes->len);
    t.blind = true;
    run_until(is_full);
    expect_success(child);
}

static void test_a_slow_reader_slows_its_ranks_and_loses_nothing(void **state)
{
    size_t n = 3000000;
    auto_free char *bytes = mem_zero(n + 1);
    auto_free char *got = NULL;
    pid_t child;
    int err;

    (void)state;
    for (size_t i = 0; i < n; i += 10)
        (void)snprintf(bytes + i, 11, "%09zu\n", i);
    open_mux();
    err = add(1, ERR, NULL, NULL);
    child = write_in_child(add(0, OUT, NULL, &flood), bytes, n);
    t.blind = true;
    run_until(is_full);
    for (int i = 0; i < 100; i++)
        (void)uv_run(&t.loop, UV_RUN_NOWAIT);
    assert_true(logmux_total(flood) < CONSOLE_FULL);
    t.blind = false;
    put(err, "the other one goes on\n");
    run_until_eofs(1);
    wanted = n / 10 * 21;
    run_until(has_seen);
    got = joined(t.seen.data, 0);
    assert_string_equal(got, bytes);
    assert_string_equal(t.other.data, "[algo-1:1] the other one goes on\n");
    expect_success(child);
    (void)close(err);
}

static void test_drain_reads_past_a_full_console(void **state)
{
    struct buf bytes = {0};
    auto_free char *got = NULL;

    (void)state;
    open_mux();
    flood_out(&bytes);
    assert_true(logmux_total(flood) < bytes.len);
    assert_false(logmux_at_eof(flood));
    logmux_drain(flood);
    assert_true(logmux_at_eof(flood));
    assert_int_equal(t.eofs, 1);
    assert_int_equal(logmux_total(flood), bytes.len);
    logmux_drain(flood); /* harmless */
    assert_int_equal(t.eofs, 1);
    t.blind = false;
    wanted = bytes.len / 10 * 21;
    run_until(has_seen);
    got = joined(t.seen.data, 0);
    assert_string_equal(got, bytes.data);
    buf_done(&bytes);
}

static void test_drain_and_cut_when_somebody_keeps_the_pipe(void **state)
{
    struct log_stream *s;
    int a;

    (void)state;
    open_mux();
    a = add(0, OUT, NULL, &s);
    put(a, "whole\nheld");
    logmux_drain(s);
    assert_false(logmux_at_eof(s));
    logmux_cut(s);
    assert_true(logmux_at_eof(s));
    assert_int_equal(t.eofs, 0);
    expect_out("[algo-1:0] whole\n[algo-1:0] held\n");
    (void)close(a);
}

/* 2>&1 */
static void test_lines_are_whole_when_both_outputs_are_one_pipe(void **state)
{
    size_t n = 500000;
    auto_free char *bytes = mem_zero(n + 1);
    auto_free char *first = NULL, *second = NULL;
    pid_t children[2];

    (void)state;
    for (size_t i = 0; i < n; i += 1000) {
        memset(bytes + i, 'x', 999);
        bytes[i + 999] = '\n';
    }
    t.mux = logmux_open_to(&t.loop, &t.set, true, t.out[1], t.out[1]);
    children[0] = write_in_child(add(0, OUT, NULL, NULL), bytes, n);
    children[1] = write_in_child(add(1, ERR, NULL, NULL), bytes, n);
    wanted = 2 * (n + n / 1000 * 11);
    run_until(has_seen);
    first = joined(t.seen.data, 0);
    second = joined(t.seen.data, 1);
    assert_string_equal(first, bytes);
    assert_string_equal(second, bytes);
    expect_success(children[0]);
    expect_success(children[1]);
}

static void test_ranks_go_on_when_the_console_is_gone(void **state)
{
    auto_free char *path = mem_printf("%s/0.out", folder);
    auto_free char *bytes = mem_zero(1000001);
    size_t len;
    auto_free char *file = NULL;
    pid_t child;

    (void)state;
    memset(bytes, 'y', 1000000);
    open_mux();
    (void)close(t.out[0]);
    t.out[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    child = write_in_child(add(0, OUT, path, NULL), bytes, 1000000);
    run_until_eofs(1);
    expect_success(child);
    file = file_read(path, 1 << 20, &len, NULL);
    assert_int_equal(len, 1000000);
    (void)unlink(path);
}

static void test_a_full_disk_is_told_once_and_the_lines_go_on(void **state)
{
    int a, b;

    (void)state;
    open_mux();
    a = add(0, OUT, "/dev/full", NULL);
    b = add(1, OUT, "/dev/full", NULL);
    put(a, "one\n");
    expect_out("[algo-1:0] one\n");
    put(b, "two\n");
    expect_out("[algo-1:1] two\n");
    expect_err("serried: warning: /dev/full: No space left on device; the file ends here, as may "
               "those of other ranks, and the job goes on\n");
    (void)close(a);
    (void)close(b);
    run_until_eofs(2);
}

static void on_done(void *data)
{
    assert_ptr_equal(data, &t);
    t.done = true;
}

static bool is_done(void)
{
    return t.done;
}

static void test_finish_waits_for_the_reader(void **state)
{
    struct buf bytes = {0};
    int a;

    (void)state;
    while (bytes.len < CONSOLE_FULL)
        buf_str(&bytes, "some line\n");
    open_mux();
    logmux_own_line(t.mux, bytes.data, bytes.len);
    a = add(0, OUT, NULL, NULL);
    put(a, "held");
    (void)uv_run(&t.loop, UV_RUN_NOWAIT);
    logmux_finish(t.mux, PROCS_LIMIT_MS, 0, on_done, &t);
    assert_false(t.done);
    run_until(is_done);
    while (take_both())
        continue;
    assert_string_equal(t.seen.data, "[algo-1:0] held\n");
    assert_string_equal(t.other.data, bytes.data);
    buf_done(&bytes);
    (void)close(a);
}

static void expect_loss(void)
{
    t.blind = true;
    run_until(is_done);
    t.blind = false;
    wanted = 1;
    run_until(has_other);
    assert_non_null(strstr(t.other.data, " bytes of output did not reach the console"));
}

static void test_finish_gives_up_when_nothing_is_taken(void **state)
{
    auto_buf struct buf bytes = {0};

    (void)state;
    open_mux();
    flood_out(&bytes);
    logmux_finish(t.mux, 50, 0, on_done, &t);
    expect_loss();
}

static void test_finish_gives_up_at_the_deadline(void **state)
{
    auto_buf struct buf bytes = {0};

    (void)state;
    open_mux();
    flood_out(&bytes);
    logmux_finish(t.mux, 1000000, clock_ms() + 50, on_done, &t);
    expect_loss();
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_torn_writes_come_out_as_whole_lines),
        TEST(test_streams_are_kept_apart),
        TEST(test_without_a_prefix_output_equals_input),
        TEST(test_a_step_is_named),
        TEST(test_json_lines),
        TEST(test_lines_beyond_the_limit_join_to_the_original),
        TEST(test_a_progress_bar_is_seen_while_it_runs),
        TEST(test_files_have_the_original_bytes_hidden_or_not),
        TEST(test_the_last_lines_of_a_hidden_rank_are_shown_when_it_failed),
        TEST(test_tail_total_and_time_of_the_traceback),
        TEST(test_a_slow_reader_slows_its_ranks_and_loses_nothing),
        TEST(test_drain_reads_past_a_full_console),
        TEST(test_drain_and_cut_when_somebody_keeps_the_pipe),
        TEST(test_lines_are_whole_when_both_outputs_are_one_pipe),
        TEST(test_ranks_go_on_when_the_console_is_gone),
        TEST(test_a_full_disk_is_told_once_and_the_lines_go_on),
        TEST(test_finish_waits_for_the_reader),
        TEST(test_finish_gives_up_when_nothing_is_taken),
        TEST(test_finish_gives_up_at_the_deadline),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
