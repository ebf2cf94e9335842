/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/findings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_the_same_warning_is_taken_once(void **state)
{
    struct findings f = {0};

    (void)state;
    for (int i = 0; i < 100; i++)
        findings_warn(&f, "port %d", i % 2);
    assert_int_equal(f.n, 2);
    assert_null(findings_first_fatal(&f));
    findings_done(&f);
}

static void test_the_first_fatal_one_counts_and_keeps_its_blame(void **state)
{
    struct findings f = {0};
    struct err err = ERR_INIT;

    (void)state;
    findings_warn(&f, "beware");
    (void)err_set(&err, BLAME_PLATFORM, -5, "the disk is gone");
    findings_err(&f, &err);
    findings_fatal(&f, BLAME_CONFIG, "%s", "later");
    assert_int_equal(f.n, 3);
    assert_string_equal(findings_first_fatal(&f)->text, "the disk is gone");
    assert_int_equal(findings_first_fatal(&f)->blame, BLAME_PLATFORM);
    findings_done(&f);
}

static void test_texts_are_utf8_also_when_a_name_in_them_was_cut(void **state)
{
    struct findings f = {0};

    (void)state;
    findings_fatal(&f, BLAME_CONFIG, "%.4s is not there",
                   "gr\xc3\xb6\xc3\x9f"
                   "e");
    findings_warn(&f, "%.3s", "gr\xc3\xb6");
    assert_string_equal(f.v[0].text, "gr\xc3\xb6 is not there");
    assert_string_equal(f.v[1].text, "gr\xef\xbf\xbd");
    findings_done(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_same_warning_is_taken_once),
        cmocka_unit_test(test_the_first_fatal_one_counts_and_keeps_its_blame),
        cmocka_unit_test(test_texts_are_utf8_also_when_a_name_in_them_was_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
