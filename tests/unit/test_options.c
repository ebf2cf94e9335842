/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "input/options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"

static struct answers {
    bool json;
    const char *base;
    struct strv sets;
    struct strv words;
} got;

static const struct option_def defs[] = {
    {"json", NULL,         "prints JSON", .flag = &got.json},
    {"base", "DIR",        "the folder",  .text = &got.base},
    {"set",  "NAME=VALUE", "a setting",   .list = &got.sets},
};

static int forget(void **state)
{
    (void)state;
    strv_done(&got.sets);
    strv_done(&got.words);
    got = (struct answers){0};
    return 0;
}

/* `words` ends with NULL. */
static int parse(const char *const *words, struct err *err)
{
    int n = 0;

    while (words[n])
        n++;
    return options_parse(n, (char *const *)words, defs, LENGTH(defs), &got.words, err);
}

static void assert_refused(const char *const *words, const char *text)
{
    struct err err = ERR_INIT;

    assert_true(parse(words, &err) < 0);
    assert_string_equal(err.text, text);
}

static void test_value_may_follow_or_stand_behind_an_equals_sign(void **state)
{
    const char *const words[] = {"--base", "/a", "train", "--json", "--base=/b", NULL};

    (void)state;
    assert_int_equal(parse(words, NULL), 0);
    assert_true(got.json);
    assert_string_equal(got.base, "/b");
    assert_int_equal(got.words.n, 1);
    assert_string_equal(got.words.v[0], "train");
}

static void test_list_takes_each_and_keeps_later_equals_signs(void **state)
{
    const char *const words[] = {"--set", "a=1", "--set=b=2=3", NULL};

    (void)state;
    assert_int_equal(parse(words, NULL), 0);
    assert_int_equal(got.sets.n, 2);
    assert_string_equal(got.sets.v[0], "a=1");
    assert_string_equal(got.sets.v[1], "b=2=3");
}

static void test_value_may_begin_with_a_dash(void **state)
{
    const char *const words[] = {"--base", "-x", NULL};

    (void)state;
    assert_int_equal(parse(words, NULL), 0);
    assert_string_equal(got.base, "-x");
}

static void test_two_dashes_end_the_options(void **state)
{
    const char *const words[] = {"-", "--", "--json", "--", NULL};

    (void)state;
    assert_int_equal(parse(words, NULL), 0);
    assert_false(got.json);
    assert_int_equal(got.words.n, 3);
    assert_string_equal(got.words.v[1], "--json");
}

static void test_unknown_option_names_the_nearest_and_hides_its_value(void **state)
{
    (void)state;
    assert_refused((const char *const[]){"--jsn", NULL},
                   "unknown option --jsn (did you mean --json?)");
    assert_refused((const char *const[]){"--bsae=secret", NULL},
                   "unknown option --bsae (did you mean --base?)");
    assert_refused((const char *const[]){"-json", NULL},
                   "unknown option -json (did you mean --json?)");
    assert_refused((const char *const[]){"--zebra", NULL}, "unknown option --zebra");
}

static void test_missing_and_needless_values_are_refused(void **state)
{
    (void)state;
    assert_refused((const char *const[]){"--base", NULL}, "option --base: DIR is missing");
    assert_refused((const char *const[]){"--json=yes", NULL}, "option --json takes no value");
}

static void test_help_has_a_line_for_each(void **state)
{
    auto_buf struct buf help = {0};

    (void)state;
    options_help(&help, defs, LENGTH(defs));
    assert_string_equal(buf_text(&help), "  --json                prints JSON\n"
                                         "  --base DIR            the folder\n"
                                         "  --set NAME=VALUE      a setting\n");
}

#define TEST(name) cmocka_unit_test_teardown(name, forget)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_value_may_follow_or_stand_behind_an_equals_sign),
        TEST(test_list_takes_each_and_keeps_later_equals_signs),
        TEST(test_value_may_begin_with_a_dash),
        TEST(test_two_dashes_end_the_options),
        TEST(test_unknown_option_names_the_nearest_and_hides_its_value),
        TEST(test_missing_and_needless_values_are_refused),
        TEST(test_help_has_a_line_for_each),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
