/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "base/strv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

static void test_empty_vector_is_a_null_ended_list(void **state)
{
    (void)state;
    struct strv s = {0};
    char *joined = strv_join(&s, ",");

    assert_null(strv_list(&s)[0]);
    assert_string_equal(joined, "");
    free(joined);
    strv_done(&s);
}

static void test_strings_are_copied_in_and_the_list_stays_null_ended(void **state)
{
    (void)state;
    auto_strv struct strv s = {0};
    char text[] = "x";

    for (int i = 0; i < 100; i++)
        strv_add(&s, text);
    text[0] = 'y';
    strv_addf(&s, "%s-%d", text, 7);
    assert_int_equal(s.n, 101);
    assert_string_equal(s.v[99], "x");
    assert_string_equal(s.v[100], "y-7");
    assert_null(strv_list(&s)[101]);
}

static void test_join_and_find(void **state)
{
    (void)state;
    auto_strv struct strv s = {0};
    auto_strv struct strv twice = {0};
    char *joined;

    strv_add(&s, "a");
    strv_add(&s, "");
    strv_add(&s, "b");
    strv_add_all(&twice, &s);
    strv_add_all(&twice, &s);
    joined = strv_join(&twice, ", ");
    assert_string_equal(joined, "a, , b, a, , b");
    free(joined);
    assert_int_equal(strv_find(&twice, "b"), 2);
    assert_int_equal(strv_find(&twice, "c"), -1);
    assert_true(strv_has(&twice, ""));
    assert_false(strv_has(&twice, "A"));
}

static void test_environment_lookup_wants_the_whole_name(void **state)
{
    (void)state;
    auto_strv struct strv s = {0};

    strv_add(&s, "PATHS=no");
    strv_add(&s, "PATH=a=b");
    strv_add(&s, "EMPTY=");
    strv_add(&s, "BARE");
    assert_string_equal(strv_env(&s, "PATH"), "a=b");
    assert_string_equal(strv_env(&s, "EMPTY"), "");
    assert_null(strv_env(&s, "BARE"));
    assert_null(strv_env(&s, "PAT"));
}

static void test_environment_set_keeps_the_place(void **state)
{
    (void)state;
    auto_strv struct strv s = {0};

    strv_env_set(&s, "A", "1");
    strv_env_set(&s, "B", "2");
    strv_env_set(&s, "A", "3");
    assert_int_equal(s.n, 2);
    assert_string_equal(s.v[0], "A=3");
}

static void test_environment_set_takes_part_of_the_old_value(void **state)
{
    (void)state;
    auto_strv struct strv s = {0};

    strv_env_set(&s, "PATH", "/a:/b");
    strv_env_set(&s, "PATH", strv_env(&s, "PATH") + 3);
    assert_string_equal(s.v[0], "PATH=/b");
}

static void test_environment_unset_closes_the_gap(void **state)
{
    (void)state;
    auto_strv struct strv s = {0};

    strv_env_set(&s, "A", "1");
    strv_env_set(&s, "B", "2");
    strv_env_set(&s, "C", "3");
    strv_env_unset(&s, "B");
    strv_env_unset(&s, "B");
    assert_int_equal(s.n, 2);
    assert_string_equal(s.v[1], "C=3");
    assert_null(s.v[2]);
}

static void test_environment_merge_lets_the_later_win(void **state)
{
    (void)state;
    auto_strv struct strv s = {0};
    auto_strv struct strv more = {0};

    strv_env_set(&s, "A", "1");
    strv_env_set(&s, "B", "2");
    strv_add(&more, "B=x=y");
    strv_add(&more, "no equals sign");
    strv_add(&more, "C=");
    strv_env_merge(&s, &more);
    assert_int_equal(s.n, 3);
    assert_string_equal(s.v[1], "B=x=y");
    assert_string_equal(s.v[2], "C=");
}

static void test_an_index_finds_the_first_of_a_name_and_what_is_added_later(void **state)
{
    (void)state;
    auto_strv struct strv s = {0};
    auto_strv_index struct strv_index index = {.env = &s};

    assert_int_equal(strv_index_find(&index, "A", 1), -1);
    strv_add(&s, "no equals sign");
    strv_add(&s, "A=1");
    strv_add(&s, "A=2");
    strv_add(&s, "=empty");
    assert_int_equal(strv_index_find(&index, "A=", 1), 1);
    assert_int_equal(strv_index_find(&index, "", 0), 3);
    assert_int_equal(strv_index_find(&index, "no equals sign", 14), -1);
    for (unsigned i = 0; i < 1000; i++)
        strv_addf(&s, "N%u=x", i);
    assert_int_equal(strv_index_find(&index, "N0", 2), 4);
    assert_int_equal(strv_index_find(&index, "N999", 4), 1003);
    assert_int_equal(strv_index_find(&index, "N1000", 5), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty_vector_is_a_null_ended_list),
        cmocka_unit_test(test_strings_are_copied_in_and_the_list_stays_null_ended),
        cmocka_unit_test(test_join_and_find),
        cmocka_unit_test(test_environment_lookup_wants_the_whole_name),
        cmocka_unit_test(test_environment_set_keeps_the_place),
        cmocka_unit_test(test_environment_set_takes_part_of_the_old_value),
        cmocka_unit_test(test_environment_unset_closes_the_gap),
        cmocka_unit_test(test_environment_merge_lets_the_later_win),
        cmocka_unit_test(test_an_index_finds_the_first_of_a_name_and_what_is_added_later),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
