/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/env.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "jobs.h"

/* "option=value|option=value|" of the job with these hyperparameters. */
static void assert_args(const char *hyper, const char *expected)
{
    auto_free char *found = NULL;

    job_again();
    given.hyper = hyper;
    job_make();
    assert_string_equal(job_error(), "");
    found = strv_join(&made.plan->user_args, "|");
    assert_string_equal(found, expected);
}

static void test_one_character_has_one_dash_and_no_name_has_none(void **state)
{
    (void)state;
    assert_args("{\"e\": \"1\", \"lr\": \"2\", \"\": \"3\", \"é\": \"4\", \"-x\": \"5\"}",
                "|3|---x|5|-e|1|--lr|2|-é|4");
}

static void test_options_are_in_the_order_of_code_points(void **state)
{
    (void)state;
    assert_args("{\"b\": \"1\", \"a\": \"2\", \"B\": \"3\", \"aa\": \"4\"}",
                "-B|3|-a|2|--aa|4|-b|1");
}

static void test_every_value_is_one_word_as_python_writes_it(void **state)
{
    (void)state;
    assert_args("{\"n\": \"null\", \"t\": \"true\", \"f\": \"false\", \"x\": \"0.5\","
                " \"big\": \"123456789012345678901234567890\", \"nan\": \"NaN\"}",
                "--big|123456789012345678901234567890|-f|False|-n||--nan|nan|-t|True|-x|0.5");
    assert_args("{\"l\": \"[1, 2.5, \\\"three\\\", true, null]\","
                " \"o\": \"{\\\"k\\\": [1], \\\"a\\\": \\\"b c\\\", \\\"n\\\": null}\"}",
                "-l|[1, 2.5, 'three', True, None]|-o|a=b c,k=[1],n=None");
}

static void test_shell_characters_are_left_as_they_are(void **state)
{
    (void)state;
    assert_args("{\"d\": \"$HOME `id` $(id) ;|&<>*?\\\\\", \"q\": \"it's \\\"x\\\"\","
                " \"w\": \"l1\\nl2\", \"y\": \"--x\"}",
                "-d|$HOME `id` $(id) ;|&<>*?\\|-q|it's \"x\"|-w|l1\nl2|-y|--x");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        job_test(test_one_character_has_one_dash_and_no_name_has_none),
        job_test(test_options_are_in_the_order_of_code_points),
        job_test(test_every_value_is_one_word_as_python_writes_it),
        job_test(test_shell_characters_are_left_as_they_are),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
