/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "run/logfile.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/files.h"
#include "base/mem.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/serried-logfile-XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    auto_free char *deep = path_join(folder, "deep");
    auto_free char *file = path_join(deep, "0.out");

    (void)state;
    (void)unlink(file);
    (void)rmdir(deep);
    return rmdir(folder);
}

/* A stream of `n` bytes, written in parts, to a file of at most `max`; what the file holds then. */
static char *written(const char *bytes, size_t n, size_t part, size_t max, size_t *len)
{
    auto_free char *path = mem_printf("%s/deep/0.out", folder);
    int code = 0;
    struct logfile *f = logfile_open(path, max, &code);

    assert_non_null(f);
    for (size_t at = 0; at < n; at += part)
        assert_int_equal(logfile_write(f, bytes + at, part < n - at ? part : n - at), 0);
    assert_int_equal(logfile_close(f), 0);
    return file_read(path, 1 << 20, len, NULL);
}

static char *numbers(size_t n)
{
    struct buf text = {0};

    for (unsigned i = 0; text.len < n; i++)
        buf_printf(&text, "%u\n", i);
    return buf_take(&text);
}

static void test_file_has_the_original_bytes(void **state)
{
    static const char bytes[] = "a\r\n\0\xff\xfe b\r 10%";
    size_t len;
    auto_free char *text = written(bytes, sizeof(bytes), 5, 1000, &len);

    (void)state;
    assert_int_equal(len, sizeof(bytes));
    assert_memory_equal(text, bytes, len);
}

static void test_whole_up_to_the_bound(void **state)
{
    auto_free char *bytes = numbers(1000);
    size_t len;
    auto_free char *text = written(bytes, 1000, 99, 1000, &len);

    (void)state;
    assert_int_equal(len, 1000);
    assert_memory_equal(text, bytes, len);
}

static void test_beyond_the_bound_head_mark_and_tail(void **state)
{
    static const size_t totals[] = {1001, 1079, 1419, 1420, 1421, 1500, 5000, 20000};
    auto_free char *bytes = numbers(20000);

    (void)state;
    for (size_t i = 0; i < LENGTH(totals); i++) {
        for (size_t part = 1; part < 30000; part = part * 5 + 2) {
            size_t n = totals[i], len, tail = 500 - LOGFILE_MARK;
            auto_free char *text = written(bytes, n, part, 1000, &len);
            unsigned long left_out = 0;

            assert_int_equal(len, 1000);
            assert_memory_equal(text, bytes, 500);
            assert_memory_equal(text + len - tail, bytes + n - tail, tail);
            assert_int_equal(sscanf(text + 500, "\n[serried: %lu bytes left out here", &left_out),
                             1);
            assert_int_equal(left_out, n - 500 - tail);
            assert_memory_equal(text + 500 + LOGFILE_MARK - 2, "]\n", 2);
        }
    }
}

static void test_a_full_disk_is_told(void **state)
{
    int code = 0;
    struct logfile *f = logfile_open("/dev/full", 1000, &code);

    (void)state;
    assert_non_null(f);
    assert_int_equal(logfile_write(f, "x", 1), -ENOSPC);
    assert_int_equal(logfile_close(f), 0);
}

static void test_a_file_size_limit_is_told(void **state)
{
    auto_free char *path = mem_printf("%s/deep/0.out", folder);
    struct rlimit before, small;
    char bytes[3000];
    int code = 0;
    struct logfile *f = logfile_open(path, 100000, &code);

    (void)state;
    memset(bytes, 'x', sizeof(bytes));
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 4096;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(logfile_write(f, bytes, sizeof(bytes)), 0);
    code = logfile_write(f, bytes, sizeof(bytes));
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(code, -EFBIG);
    assert_int_equal(logfile_close(f), 0);
}

static void test_a_file_that_cannot_be_made_is_told(void **state)
{
    int code = 0;

    (void)state;
    assert_null(logfile_open("/dev/null/logs/0.out", 1000, &code));
    assert_int_equal(code, -ENOTDIR);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_file_has_the_original_bytes),
        cmocka_unit_test(test_whole_up_to_the_bound),
        cmocka_unit_test(test_beyond_the_bound_head_mark_and_tail),
        cmocka_unit_test(test_a_full_disk_is_told),
        cmocka_unit_test(test_a_file_size_limit_is_told),
        cmocka_unit_test(test_a_file_that_cannot_be_made_is_told),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
