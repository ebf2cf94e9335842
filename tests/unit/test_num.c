/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "base/num.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <locale.h>
#include <math.h>
#include <string.h>

static void assert_float(double value, const char *expected)
{
    char text[NUM_FLOAT_SIZE];

    assert_string_equal(num_float(value, text), expected);
}

static void test_floats_are_python_s_repr(void **state)
{
    (void)state;
    assert_float(0.0, "0.0");
    assert_float(-0.0, "-0.0");
    assert_float(1000, "1000.0");
    assert_float(0.1, "0.1");
    assert_float(0.1 + 0.2, "0.30000000000000004");
    assert_float(123456789.123, "123456789.123");
    assert_float(-100.5, "-100.5");
}

static void test_exponents_begin_where_python_s_do(void **state)
{
    (void)state;
    assert_float(1e15, "1000000000000000.0");
    assert_float(9999999999999998.0, "9999999999999998.0");
    assert_float(1e16, "1e+16");
    assert_float(1.5e300, "1.5e+300");
    assert_float(0.0001, "0.0001");
    assert_float(0.00012345, "0.00012345");
    assert_float(0.00001, "1e-05");
    assert_float(-1.5e-7, "-1.5e-07");
}

static void test_extreme_floats_keep_their_shortest_digits(void **state)
{
    (void)state;
    assert_float(5e-324, "5e-324");
    assert_float(2.2250738585072014e-308, "2.2250738585072014e-308");
    assert_float(1.7976931348623157e308, "1.7976931348623157e+308");
    assert_float(ldexp(1, -24), "5.960464477539063e-08"); /* not the nearest 16 digits */
    assert_float(ldexp(1, 89), "6.189700196426902e+26");
}

static void test_what_is_not_finite_has_json_s_names(void **state)
{
    (void)state;
    assert_float(NAN, "NaN");
    assert_float(INFINITY, "Infinity");
    assert_float(-INFINITY, "-Infinity");
}

static void test_a_locale_with_a_decimal_comma_changes_nothing(void **state)
{
    (void)state;
    static const char *const locales[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8",
                                          "nl_NL.UTF-8"};
    bool found = false;
    double value = 0;

    for (size_t i = 0; i < sizeof(locales) / sizeof(locales[0]) && !found; i++)
        found = setlocale(LC_ALL, locales[i]) != NULL;
    if (!found)
        print_message("no locale with a decimal comma here: tried in the C locale\n");
    assert_float(1.5, "1.5");
    assert_float(1.5e300, "1.5e+300");
    assert_true(num_real("2.5", 0, 10, &value));
    assert_true(value == 2.5);
    assert_true(num_read("1.25") == 1.25);
    (void)setlocale(LC_ALL, "C");
}

static void assert_no_integer(const char *text)
{
    long value = 7;

    assert_false(num_integer(text, -100, 100, &value));
    assert_int_equal(value, 7);
}

static void test_integers_are_read_whole_and_in_range(void **state)
{
    (void)state;
    long value = 0;

    assert_true(num_integer("-100", -100, 100, &value));
    assert_int_equal(value, -100);
    assert_true(num_integer("+042", -100, 100, &value));
    assert_int_equal(value, 42);
    assert_no_integer("");
    assert_no_integer("-");
    assert_no_integer(" 1");
    assert_no_integer("1 ");
    assert_no_integer("1.0");
    assert_no_integer("0x10");
    assert_no_integer("101");
    assert_no_integer("-101");
    assert_no_integer("99999999999999999999999999");
}

static void assert_no_real(const char *text)
{
    double value = 7;

    assert_false(num_real(text, -1e300, 1e300, &value));
    assert_true(value == 7);
}

static void test_reals_are_decimal_finite_and_in_range(void **state)
{
    (void)state;
    double value = 0;

    assert_true(num_real("-1.5e3", -2000, 0, &value));
    assert_true(value == -1500);
    assert_true(num_real("2", 0, 2, &value));
    assert_no_real("");
    assert_no_real(".");
    assert_no_real("1e");
    assert_no_real(" 1");
    assert_no_real("1s");
    assert_no_real("0x1p3");
    assert_no_real("nan");
    assert_no_real("inf");
    assert_no_real("1e999");
    assert_no_real("1e301");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_floats_are_python_s_repr),
        cmocka_unit_test(test_exponents_begin_where_python_s_do),
        cmocka_unit_test(test_extreme_floats_keep_their_shortest_digits),
        cmocka_unit_test(test_what_is_not_finite_has_json_s_names),
        cmocka_unit_test(test_a_locale_with_a_decimal_comma_changes_nothing),
        cmocka_unit_test(test_integers_are_read_whole_and_in_range),
        cmocka_unit_test(test_reals_are_decimal_finite_and_in_range),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
