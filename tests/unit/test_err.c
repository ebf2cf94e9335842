/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "base/utf8.h"

static void test_set_keeps_blame_code_and_sentence(void **state)
{
    (void)state;
    struct err err = ERR_INIT;

    assert_int_equal(err_set(&err, BLAME_CONFIG, -ENOENT, "%s: not there", "a.json"), -ENOENT);
    assert_int_equal(err.blame, BLAME_CONFIG);
    assert_int_equal(err.code, -ENOENT);
    assert_string_equal(err.text, "a.json: not there");
}

static void test_set_without_a_place_for_it_returns_the_code(void **state)
{
    (void)state;
    assert_int_equal(err_set(NULL, BLAME_USER, -EINVAL, "%d", 1), -EINVAL);
}

static void test_wrap_puts_context_in_front(void **state)
{
    (void)state;
    struct err err = ERR_INIT;

    (void)err_set(&err, BLAME_USER, -EINVAL, "expected a list");
    assert_int_equal(err_wrap(&err, "%s", "/hosts"), -EINVAL);
    assert_int_equal(err_wrap(&err, "resourceconfig.json"), -EINVAL);
    assert_string_equal(err.text, "resourceconfig.json: /hosts: expected a list");
    assert_int_equal(err.blame, BLAME_USER);
}

static void test_long_text_is_cut_at_a_character(void **state)
{
    (void)state;
    char text[2 * sizeof(((struct err *)0)->text)];

    for (size_t shift = 0; shift < 4; shift++) {
        struct err err = ERR_INIT;
        size_t n = shift;

        memset(text, 'a', shift);
        for (; n + 4 < sizeof(text); n += 4)
            memcpy(text + n, "\xf0\x9f\x98\x80", 4);
        text[n] = '\0';
        (void)err_set(&err, BLAME_USER, -EINVAL, "%s", text);
        assert_int_equal(utf8_check(err.text, strlen(err.text)), strlen(err.text));
        assert_true(strlen(err.text) > sizeof(err.text) - 9);
        (void)err_wrap(&err, "x");
        assert_int_equal(utf8_check(err.text, strlen(err.text)), strlen(err.text));
        assert_memory_equal(err.text, "x: ", 3);
    }
}

static void test_each_blame_has_its_exit_status(void **state)
{
    (void)state;
    assert_int_equal(err_status(BLAME_USER), 1);
    assert_int_equal(err_status(BLAME_CONFIG), 65);
    assert_int_equal(err_status(BLAME_HOST), 69);
    assert_int_equal(err_status(BLAME_SELF), 70);
    assert_int_equal(err_status(BLAME_PLATFORM), 71);
    assert_string_equal(err_blame_name(BLAME_CONFIG), "configuration");
    assert_string_equal(err_blame_name(BLAME_HOST), "host");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_set_keeps_blame_code_and_sentence),
        cmocka_unit_test(test_set_without_a_place_for_it_returns_the_code),
        cmocka_unit_test(test_wrap_puts_context_in_front),
        cmocka_unit_test(test_long_text_is_cut_at_a_character),
        cmocka_unit_test(test_each_blame_has_its_exit_status),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
