/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "base/names.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

static void test_distance_counts_edits(void **state)
{
    (void)state;
    assert_int_equal(names_distance("", ""), 0);
    assert_int_equal(names_distance("launcher", "launcher"), 0);
    assert_int_equal(names_distance("", "abc"), 3);
    assert_int_equal(names_distance("launchr", "launcher"), 1);
    assert_int_equal(names_distance("launcherr", "launcher"), 1);
    assert_int_equal(names_distance("lanucher", "launcher"), 1);
    assert_int_equal(names_distance("Launcher", "launcher"), 1);
    assert_int_equal(names_distance("kitten", "sitting"), 3);
}

static void test_nearest_is_a_slip_of_the_pen_only(void **state)
{
    (void)state;
    static const char *const names[] = {"stop.grace_s", "peer.key_file", "launcher", "log"};

    assert_string_equal(names_nearest("stop.grace", names, 4), "stop.grace_s");
    assert_string_equal(names_nearest("peer.keyfile", names, 4), "peer.key_file");
    assert_string_equal(names_nearest("lancuher", names, 4), "launcher");
    assert_null(names_nearest("completely else", names, 4));
    assert_null(names_nearest("la", names, 4));
    assert_null(names_nearest("", names, 4));
    assert_null(names_nearest("launcher", names, 0));
}

static void test_very_long_words_are_near_to_nothing(void **state)
{
    (void)state;
    char word[1000];
    const char *const names[] = {"launcher"};

    memset(word, 'x', sizeof(word));
    word[sizeof(word) - 1] = '\0';
    assert_null(names_nearest(word, names, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_distance_counts_edits),
        cmocka_unit_test(test_nearest_is_a_slip_of_the_pen_only),
        cmocka_unit_test(test_very_long_words_are_near_to_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
