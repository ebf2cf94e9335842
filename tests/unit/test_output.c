/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/files.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/strv.h"
#include "core/report.h"
#include "input/output.h"

static char base[64];
static unsigned warnings;

static void count_line(void *data, const char *line, size_t n)
{
    (void)data;
    (void)n;
    warnings += strstr(line, "warning") != NULL;
}

static char *path_of(const char *below)
{
    return path_join(base, below);
}

static bool is_there(const char *below)
{
    auto_free char *path = path_of(below);

    return file_exists(path);
}

static void put(const char *below, const char *text)
{
    auto_free char *path = path_of(below);
    auto_free char *folder = mem_dup_n(path, (size_t)(strrchr(path, '/') - path));

    assert_int_equal(folder_make(folder), 0);
    assert_int_equal(file_write(path, text, strlen(text)), 0);
}

static void assert_file(const char *below, const char *want)
{
    auto_free char *path = path_of(below);
    auto_free char *text = file_read(path, 1 << 20, NULL, NULL);

    assert_non_null(text);
    assert_string_equal(text, want);
}

static void remove_tree(const char *path)
{
    auto_strv struct strv names = {0};
    struct stat st;

    if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && folder_list(path, 1000, &names) == 0) {
        for (size_t i = 0; i < names.n; i++) {
            auto_free char *below = path_join(path, names.v[i]);

            remove_tree(below);
        }
        (void)rmdir(path);
    } else {
        (void)unlink(path);
    }
}

static int setup(void **state)
{
    const char *tmp = getenv("TMPDIR");

    (void)state;
    (void)snprintf(base, sizeof(base), "%.40s/output.XXXXXX", tmp ? tmp : "/tmp");
    log_to(count_line, NULL);
    warnings = 0;
    return mkdtemp(base) ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    remove_tree(base);
    log_to(NULL, NULL);
    return 0;
}

static void test_output_makes_its_folders_and_reserves_space(void **state)
{
    struct output *o = output_new(base, "algo-1");
    auto_free char *log = output_log_path(o, 3, "out");
    auto_free char *want_log = path_of("output/data/serried/algo-1/logs/3.out");
    auto_free char *reserve = path_of("output/.serried-reserve");
    struct stat st;

    (void)state;
    assert_string_equal(log, want_log);
    assert_true(is_there("output/data/serried/algo-1/logs"));
    assert_true(is_there("output/data/serried/algo-1/errors"));
    assert_int_equal(stat(reserve, &st), 0);
    assert_true(st.st_blocks * 512 >= REPORT_MAX);
    assert_false(is_there("output/failure"));
    output_free(o);
    assert_false(is_there("output/.serried-reserve"));
    assert_int_equal(warnings, 0);
}

static void test_output_failure_writes_text_and_json(void **state)
{
    struct output *o = output_new(base, "algo-1");
    auto_json cJSON *json = json_parse("{\"rank\":3}", 10, NULL);

    (void)state;
    assert_int_equal(output_failure(o, "user: exit code 3\n", json), 0);
    output_free(o);
    assert_file("output/failure", "user: exit code 3\n");
    assert_file("output/data/serried/algo-1/failure.json", "{\n\t\"rank\":\t3\n}");
    assert_false(is_there("output/success"));
    assert_false(is_there("output/.serried-reserve"));
}

static void test_output_a_failure_file_of_the_program_stays(void **state)
{
    struct output *o = output_new(base, "algo-1");

    (void)state;
    put("output/failure", "mine\xff");
    assert_int_equal(output_failure(o, "user: exit code 3\n", NULL), 0);
    output_free(o);
    assert_file("output/failure", "mine\xff");
    assert_file("output/data/serried/algo-1/failure.txt", "user: exit code 3\n");
}

static void test_output_success_is_an_empty_file(void **state)
{
    struct output *o = output_new(base, "algo-1");

    (void)state;
    assert_int_equal(output_success(o), 0);
    output_free(o);
    assert_file("output/success", "");
    assert_false(is_there("output/failure"));
    assert_false(is_there("output/.serried-reserve"));
}

static void test_output_a_stop_writes_no_failure_file(void **state)
{
    struct output *o = output_new(base, "algo-1");
    auto_json cJSON *json = json_parse("{}", 2, NULL);

    (void)state;
    output_stopped(o, json);
    output_free(o);
    assert_false(is_there("output/failure"));
    assert_false(is_there("output/success"));
    assert_true(is_there("output/data/serried/algo-1/failure.json"));
}

static void test_output_moves_earlier_runs_aside(void **state)
{
    (void)state;
    put("output/failure", "first");
    put("output/data/serried/algo-1/logs/0.out", "log of the first");
    put("output/data/model.bin", "the program's");
    put("output/data/serried/algo-2/logs/0.out", "another host's");
    output_free(output_new(base, "algo-1"));
    put("output/success", "");
    output_free(output_new(base, "algo-1"));
    assert_false(is_there("output/failure"));
    assert_false(is_there("output/success"));
    assert_file("output/data/serried/algo-1/earlier-1/failure", "first");
    assert_file("output/data/serried/algo-1/earlier-1/logs/0.out", "log of the first");
    assert_file("output/data/serried/algo-1/earlier-2/success", "");
    assert_true(is_there("output/data/serried/algo-1/earlier-2/logs"));
    assert_false(is_there("output/data/serried/algo-1/earlier-2/earlier-1"));
    assert_false(is_there("output/data/serried/algo-1/logs/0.out"));
    assert_file("output/data/model.bin", "the program's");
    assert_file("output/data/serried/algo-2/logs/0.out", "another host's");
    assert_int_equal(warnings, 0);
}

static void test_output_a_first_run_leaves_no_earlier_one(void **state)
{
    (void)state;
    output_free(output_new(base, "algo-1"));
    assert_false(is_there("output/data/serried/algo-1/earlier-1"));
}

static void test_output_goes_on_where_no_folder_can_be_made(void **state)
{
    struct output *o;
    auto_json cJSON *json = json_parse("{}", 2, NULL);

    (void)state;
    put("output", "in the way");
    o = output_new(base, "algo-1");
    assert_null(output_folder(o));
    assert_null(output_log_path(o, 0, "out"));
    assert_true(output_failure(o, "text", json) < 0);
    output_free(o);
    o = output_new(base, "algo-1");
    assert_true(output_success(o) < 0);
    output_free(o);
    assert_file("output", "in the way");
    assert_int_equal(warnings, 2); /* one a run */
}

static void test_output_an_old_verdict_goes_although_it_cannot_be_kept(void **state)
{
    (void)state;
    put("output/failure", "old");
    put("output/data", "in the way of our folder");
    output_free(output_new(base, "algo-1"));
    assert_false(is_there("output/failure"));
}

static void test_output_the_reserve_serves_when_the_disk_is_full(void **state)
{
    struct output *o = output_new(base, "algo-1");
    auto_json cJSON *json = json_parse("{}", 2, NULL);
    struct rlimit old, none;

    (void)state;
    /* No descriptor and no new file can be had: only what is open already. */
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    none = old;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    assert_int_equal(output_failure(o, "user: exit code 3\n", json), 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    output_free(o);
    assert_file("output/failure", "user: exit code 3\n");
    assert_int_equal(warnings, 1); /* failure.json */
}

static void test_output_writes_although_the_program_removed_all(void **state)
{
    struct output *o = output_new(base, "algo-1");
    auto_free char *reserve = path_of("output/.serried-reserve");

    (void)state;
    assert_int_equal(unlink(reserve), 0);
    assert_int_equal(output_failure(o, "text", NULL), 0);
    output_free(o);
    assert_file("output/failure", "text");
}

static void test_output_host_names_cannot_leave_the_folder(void **state)
{
    static const char *const names[] = {"..", "../../x", "", "a/b", "."};

    (void)state;
    for (size_t i = 0; i < LENGTH(names); i++) {
        struct output *o = output_new(base, names[i]);
        auto_free char *parent = path_of("output/data/serried/");
        const char *folder = output_folder(o);

        assert_non_null(folder);
        assert_memory_equal(folder, parent, strlen(parent));
        assert_null(strchr(folder + strlen(parent), '/'));
        assert_string_not_equal(folder + strlen(parent), "..");
        assert_string_not_equal(folder + strlen(parent), ".");
        output_free(o);
    }
}

static void test_output_early_failure_replaces_an_older_result(void **state)
{
    auto_free char *nowhere = path_of("nowhere");

    (void)state;
    put("output/failure", "old");
    put("output/success", "");
    assert_int_equal(output_failure_early(base, "configuration: bad\n"), 0);
    assert_file("output/failure", "configuration: bad\n");
    assert_false(is_there("output/success"));
    assert_int_equal(output_failure_early(nowhere, "text"), -ENOENT);
    assert_false(is_there("nowhere"));
}

static void test_output_a_success_file_of_the_program_goes_with_a_failure(void **state)
{
    struct output *o = output_new(base, "algo-1");

    (void)state;
    put("output/success", "mine");
    assert_int_equal(output_failure(o, "text", NULL), 0);
    output_free(o);
    assert_file("output/failure", "text");
    assert_false(is_there("output/success"));
}

static void test_output_makes_a_removed_folder_again(void **state)
{
    auto_json cJSON *json = json_parse("{}", 2, NULL);
    auto_free char *top = path_of("output");

    (void)state;
    for (int success = 0; success < 2; success++) {
        struct output *o = output_new(base, "algo-1");

        remove_tree(top);
        assert_false(is_there("output"));
        assert_int_equal(success ? output_success(o) : output_failure(o, "text", json), 0);
        output_free(o);
        assert_true(is_there(success ? "output/success" : "output/failure"));
        assert_true(success || is_there("output/data/serried/algo-1/failure.json"));
        remove_tree(top);
    }
    assert_int_equal(warnings, 0);
}

static void test_output_leaves_the_files_of_a_running_daemon_alone(void **state)
{
    struct output *first = output_new(base, "algo-1");
    struct output *second;
    auto_json cJSON *json = json_parse("{}", 2, NULL);

    (void)state;
    assert_false(output_is_taken(first));
    put("output/data/serried/algo-1/logs/0.out", "of the first");
    second = output_new(base, "algo-1");
    assert_true(output_is_taken(second));
    assert_int_equal(output_failure(second, "second", json), 0);
    assert_int_equal(output_success(second), 0);
    output_stopped(second, json);
    output_free(second);
    assert_false(is_there("output/failure"));
    assert_false(is_there("output/success"));
    assert_false(is_there("output/data/serried/algo-1/failure.json"));
    assert_false(is_there("output/data/serried/algo-1/earlier-1"));
    assert_true(is_there("output/.serried-reserve"));
    assert_file("output/data/serried/algo-1/logs/0.out", "of the first");
    output_free(first);
    second = output_new(base, "algo-1");
    assert_false(output_is_taken(second));
    output_free(second);
    assert_int_equal(warnings, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_output_makes_its_folders_and_reserves_space),
        TEST(test_output_failure_writes_text_and_json),
        TEST(test_output_a_failure_file_of_the_program_stays),
        TEST(test_output_success_is_an_empty_file),
        TEST(test_output_a_stop_writes_no_failure_file),
        TEST(test_output_moves_earlier_runs_aside),
        TEST(test_output_a_first_run_leaves_no_earlier_one),
        TEST(test_output_goes_on_where_no_folder_can_be_made),
        TEST(test_output_an_old_verdict_goes_although_it_cannot_be_kept),
        TEST(test_output_the_reserve_serves_when_the_disk_is_full),
        TEST(test_output_writes_although_the_program_removed_all),
        TEST(test_output_host_names_cannot_leave_the_folder),
        TEST(test_output_early_failure_replaces_an_older_result),
        TEST(test_output_a_success_file_of_the_program_goes_with_a_failure),
        TEST(test_output_makes_a_removed_folder_again),
        TEST(test_output_leaves_the_files_of_a_running_daemon_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
