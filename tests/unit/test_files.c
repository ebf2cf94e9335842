/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "base/files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/strv.h"

static char folder[] = "/tmp/test_files.XXXXXX";
static struct err err;

static int begin(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static void remove_all(const char *path)
{
    auto_strv struct strv names = {0};

    if (folder_list(path, 100, &names) == 0)
        for (size_t i = 0; i < names.n; i++) {
            auto_free char *below = path_join(path, names.v[i]);

            remove_all(below);
        }
    (void)remove(path);
}

static int end(void **state)
{
    (void)state;
    remove_all(folder);
    return file_exists(folder) ? -1 : 0;
}

static char *at(const char *name)
{
    return path_join(folder, name);
}

static void test_what_is_written_is_read(void **state)
{
    (void)state;
    auto_free char *path = at("plain");
    auto_free char *text = NULL;
    size_t n = 0;

    assert_int_equal(file_write(path, "longer text", 11), 0);
    assert_int_equal(file_write(path, "a\0b", 3), 0);
    text = file_read(path, 3, &n, &err);
    assert_non_null(text);
    assert_int_equal(n, 3);
    assert_memory_equal(text, "a\0b", 4);
}

static void test_longer_than_the_bound_is_refused_with_the_path(void **state)
{
    (void)state;
    auto_free char *path = at("long");

    assert_int_equal(file_write(path, "1234", 4), 0);
    assert_null(file_read(path, 3, NULL, &err));
    assert_int_equal(err.code, -EFBIG);
    assert_int_equal(err.blame, BLAME_CONFIG);
    assert_non_null(strstr(err.text, path));
}

static void test_a_file_of_many_pieces_is_read_whole(void **state)
{
    (void)state;
    auto_free char *path = at("big");
    auto_free char *data = mem_zero(100001);
    auto_free char *text = NULL;
    size_t n = 0;

    data[100000] = 'x';
    assert_int_equal(file_write(path, data, 100001), 0);
    text = file_read(path, 100001, &n, NULL);
    assert_int_equal(n, 100001);
    assert_memory_equal(text, data, n);
}

static void test_missing_folders_and_pipes_are_refused_at_once(void **state)
{
    (void)state;
    auto_free char *missing = at("missing");
    auto_free char *pipe_path = at("pipe");

    assert_null(file_read(missing, 10, NULL, &err));
    assert_int_equal(err.code, -ENOENT);
    assert_null(file_read(folder, 10, NULL, &err));
    assert_int_equal(err.code, -EISDIR);
    assert_int_equal(mkfifo(pipe_path, 0600), 0);
    assert_null(file_read(pipe_path, 10, NULL, &err));
    assert_int_equal(err.code, -EINVAL);
}

static void test_replace_swaps_whole_files_and_leaves_nothing_else(void **state)
{
    (void)state;
    auto_free char *path = at("state/report");
    auto_free char *dir = at("state");
    auto_free char *text = NULL;
    auto_strv struct strv names = {0};

    assert_int_equal(file_replace(path, "x", 1), -ENOENT);
    assert_int_equal(folder_make(dir), 0);
    assert_int_equal(file_replace(path, "old", 3), 0);
    assert_int_equal(file_replace(path, "new", 3), 0);
    text = file_read(path, 10, NULL, &err);
    assert_string_equal(text, "new");
    assert_int_equal(folder_list(dir, 10, &names), 0);
    assert_int_equal(names.n, 1);
}

static void test_folders_are_made_with_their_parents(void **state)
{
    (void)state;
    auto_free char *deep = at("one//two/three/");
    auto_free char *file = at("file");
    auto_free char *below = at("file/below");

    assert_int_equal(folder_make(deep), 0);
    assert_int_equal(folder_make(deep), 0);
    assert_true(file_is_folder(deep));
    assert_int_equal(folder_make("/"), 0);
    assert_int_equal(file_write(file, "", 0), 0);
    assert_int_equal(folder_make(file), -ENOTDIR);
    assert_int_equal(folder_make(below), -ENOTDIR);
}

static void test_folder_lists_are_sorted_and_bounded(void **state)
{
    (void)state;
    auto_free char *dir = at("list");
    auto_strv struct strv all = {0};
    auto_strv struct strv two = {0};
    static const char *const names[] = {"b", "B", ".hidden", "a"};

    assert_int_equal(folder_make(dir), 0);
    for (size_t i = 0; i < LENGTH(names); i++) {
        auto_free char *path = path_join(dir, names[i]);

        assert_int_equal(file_write(path, "", 0), 0);
    }
    assert_int_equal(folder_list(dir, 10, &all), 0);
    assert_int_equal(all.n, 4);
    assert_string_equal(all.v[0], ".hidden");
    assert_string_equal(all.v[1], "B");
    assert_string_equal(all.v[3], "b");
    assert_int_equal(folder_list(dir, 2, &two), 0);
    assert_int_equal(two.n, 2);
    assert_int_equal(folder_list("/no/such/folder", 2, &two), -ENOENT);
}

static void test_paths_are_joined_with_one_slash(void **state)
{
    (void)state;
    auto_free char *a = path_join("/opt/ml", "code");
    auto_free char *b = path_join("/", "code");

    assert_string_equal(a, "/opt/ml/code");
    assert_string_equal(b, "/code");
}

static void test_paths_are_made_normal_by_their_words(void **state)
{
    static const struct {
        const char *path, *normal;
    } rows[] = {
        {"/",                "/"         },
        {"/../../x",         "/x"        },
        {"//a/./b//c/../d/", "/a/b/d"    },
        {"/a/..",            "/"         },
        {"/a/../..",         "/"         },
        {"/...",             "/..."      },
        {"/.a/..b/c.",       "/.a/..b/c."},
    };
    (void)state;

    for (size_t i = 0; i < LENGTH(rows); i++) {
        auto_free char *normal = path_normal(rows[i].path);

        assert_string_equal(normal, rows[i].normal);
    }
}

static void test_which_finds_the_first_executable_file(void **state)
{
    (void)state;
    auto_free char *bin = at("bin");
    auto_free char *tool = at("bin/tool");
    auto_free char *plain = at("bin/plain");
    auto_free char *path = mem_printf("/no/such/folder:%s:/bin", bin);
    auto_free char *found = NULL;
    auto_free char *direct = NULL;

    assert_int_equal(folder_make(bin), 0);
    assert_int_equal(file_write(tool, "", 0), 0);
    assert_int_equal(file_write(plain, "", 0), 0);
    assert_int_equal(chmod(tool, 0755), 0);
    found = path_which("tool", path);
    assert_string_equal(found, tool);
    direct = path_which(tool, NULL);
    assert_string_equal(direct, tool);
    assert_null(path_which("plain", bin));
    assert_null(path_which("", path));
    assert_null(path_which("tool", NULL));
    assert_null(path_which("bin", folder)); /* a folder is no program */
}

static void test_path_parent_is_the_folder_that_a_path_is_in(void **state)
{
    static const char *const pairs[][2] = {
        {"/a/b", "/a"},
        {"/b",   "/" },
        {"a/b",  "a" },
        {"b",    "." },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        auto_free char *parent = path_parent(pairs[i][0]);

        assert_string_equal(parent, pairs[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_path_parent_is_the_folder_that_a_path_is_in),
        cmocka_unit_test(test_what_is_written_is_read),
        cmocka_unit_test(test_longer_than_the_bound_is_refused_with_the_path),
        cmocka_unit_test(test_a_file_of_many_pieces_is_read_whole),
        cmocka_unit_test(test_missing_folders_and_pipes_are_refused_at_once),
        cmocka_unit_test(test_replace_swaps_whole_files_and_leaves_nothing_else),
        cmocka_unit_test(test_folders_are_made_with_their_parents),
        cmocka_unit_test(test_folder_lists_are_sorted_and_bounded),
        cmocka_unit_test(test_paths_are_joined_with_one_slash),
        cmocka_unit_test(test_paths_are_made_normal_by_their_words),
        cmocka_unit_test(test_which_finds_the_first_executable_file),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
