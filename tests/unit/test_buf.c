/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "base/buf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

static void test_empty_buffer_is_an_empty_text(void **state)
{
    (void)state;
    struct buf b = {0};
    char *text;

    assert_string_equal(buf_text(&b), "");
    text = buf_take(&b);
    assert_string_equal(text, "");
    free(text);
}

static void test_pieces_come_out_in_order_and_nul_ended(void **state)
{
    (void)state;
    auto_buf struct buf b = {0};

    buf_str(&b, "a");
    buf_char(&b, 'b');
    buf_add(&b, "c\0d", 3);
    buf_printf(&b, "%d", 42);
    assert_int_equal(b.len, 7);
    assert_memory_equal(b.data, "abc\0d42", 8);
}

static void test_grows_past_its_first_size(void **state)
{
    (void)state;
    auto_buf struct buf b = {0};

    for (int i = 0; i < 1000; i++)
        buf_char(&b, (char)('a' + i % 26));
    assert_int_equal(b.len, 1000);
    assert_int_equal(strlen(b.data), 1000);
    assert_int_equal(b.data[999], 'a' + 999 % 26);
}

static void test_what_passes_the_bound_is_left_out_whole(void **state)
{
    (void)state;
    auto_buf struct buf b = {.max = 4};

    buf_str(&b, "abc");
    buf_str(&b, "de");
    assert_true(b.over);
    assert_string_equal(buf_text(&b), "abc");
    buf_str(&b, "d");
    assert_string_equal(buf_text(&b), "abcd");
}

static void test_clear_forgets_the_text_and_the_overflow(void **state)
{
    (void)state;
    auto_buf struct buf b = {.max = 2};

    buf_str(&b, "abc");
    buf_str(&b, "ab");
    buf_clear(&b);
    assert_false(b.over);
    assert_string_equal(buf_text(&b), "");
    buf_str(&b, "xy");
    assert_string_equal(buf_text(&b), "xy");
}

static void test_drop_front_keeps_the_rest(void **state)
{
    (void)state;
    auto_buf struct buf b = {0};

    buf_drop_front(&b, 0);
    buf_str(&b, "abcdef");
    buf_drop_front(&b, 4);
    assert_string_equal(buf_text(&b), "ef");
    buf_drop_front(&b, 2);
    assert_string_equal(buf_text(&b), "");
}

static void test_take_leaves_an_empty_buffer_that_can_be_used_again(void **state)
{
    (void)state;
    auto_buf struct buf b = {0};
    char *text;

    buf_str(&b, "first");
    text = buf_take(&b);
    buf_str(&b, "second");
    assert_string_equal(text, "first");
    assert_string_equal(buf_text(&b), "second");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty_buffer_is_an_empty_text),
        cmocka_unit_test(test_pieces_come_out_in_order_and_nul_ended),
        cmocka_unit_test(test_grows_past_its_first_size),
        cmocka_unit_test(test_what_passes_the_bound_is_left_out_whole),
        cmocka_unit_test(test_clear_forgets_the_text_and_the_overflow),
        cmocka_unit_test(test_drop_front_keeps_the_rest),
        cmocka_unit_test(test_take_leaves_an_empty_buffer_that_can_be_used_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
