/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "base/utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/buf.h"

static void assert_upper(const char *text, const char *expected)
{
    auto_buf struct buf out = {0};

    utf8_upper(&out, text, strlen(text));
    assert_string_equal(buf_text(&out), expected);
}

static void assert_replaced(const char *text, const char *expected)
{
    auto_buf struct buf out = {0};

    utf8_replace(&out, text, strlen(text));
    assert_string_equal(buf_text(&out), expected);
}

static void test_decodes_what_it_encodes_and_refuses_surrogates(void **state)
{
    (void)state;
    for (uint32_t code = 1; code < 0x110000; code += code < 0x3000 ? 1 : 61) {
        auto_buf struct buf out = {0};
        uint32_t back = 0;

        utf8_encode(&out, code);
        assert_int_equal(utf8_decode(out.data, out.len, &back),
                         code >= 0xd800 && code < 0xe000 ? 0 : out.len);
        if (back)
            assert_int_equal(back, code);
        assert_int_equal(utf8_decode(out.data, out.len - 1, &back), 0);
    }
}

static void test_bad_bytes_are_found_where_they_are(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t bad;
    } cases[] = {
        {"",                             0},
        {"abc\xc3\xa9",                  5},
        {"ab\x80",                       2},
        {"a\xc0\x80",                    1}, /* overlong */
        {"a\xe0\x80\x80",                1},
        {"\xed\xa0\x80",                 0}, /* a surrogate */
        {"\xf4\x90\x80\x80",             0}, /* beyond U+10FFFF */
        {"\xf0\x9f\x98\x80\xf0\x9f\x98", 4},
        {"\xff",                         0},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(utf8_check(cases[i].text, strlen(cases[i].text)), cases[i].bad);
}

static void test_counts_characters(void **state)
{
    (void)state;
    assert_int_equal(utf8_count("", 0), 0);
    assert_int_equal(utf8_count("a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 10), 4);
}

static void test_clip_keeps_characters_whole(void **state)
{
    (void)state;
    const char *text = "a\xe2\x82\xac\xf0\x9f\x98\x80"; /* 1 + 3 + 4 bytes */
    static const size_t expected[] = {0, 1, 1, 1, 4, 4, 4, 4, 8};

    for (size_t want = 0; want <= 8; want++)
        assert_int_equal(utf8_clip(text, 8, want), expected[want]);
    assert_int_equal(utf8_clip(text, 8, 100), 8);
    assert_int_equal(utf8_clip("\x80\x80\x80\x80\x80", 5, 3), 3);
    assert_int_equal(utf8_clip("\xe2\x82"
                               "abc",
                               5, 1),
                     1);
}

static void test_replacement_characters_are_python_s(void **state)
{
    (void)state;
    assert_replaced("plain \xc3\xa9", "plain \xc3\xa9");
    assert_replaced("a\xff"
                    "b",
                    "a\xef\xbf\xbd"
                    "b");
    assert_replaced("\xe2\x82", "\xef\xbf\xbd");
    assert_replaced("\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    assert_replaced("\xf0\x9f\x98x", "\xef\xbf\xbdx");
}

static void test_upper_case_is_the_full_mapping(void **state)
{
    (void)state;
    assert_upper("batch-size_1 with.dot", "BATCH-SIZE_1 WITH.DOT");
    assert_upper("gr\u00f6\u00dfe", "GR\u00d6SSE");
    assert_upper("\u01c6", "\u01c4");
    assert_upper("\u0130", "\u0130");
    assert_upper("\u0131", "I");
    assert_upper("\u0149", "\u02bcN");
    assert_upper("\u03c2\u03c3", "\u03a3\u03a3");
    assert_upper("\ufb03", "FFI");
    assert_upper("\u0390", "\u0399\u0308\u0301");
    assert_upper("\u1f80\u1f88", "\u1f08\u0399\u1f08\u0399");
    assert_upper("\u0101\u0100", "\u0100\u0100"); /* every second character of a range */
    assert_upper("\u6570\U0001f600\U00010428", "\u6570\U0001f600\U00010400");
}

static void test_printable_is_python_s(void **state)
{
    (void)state;
    static const uint32_t yes[] = {' ', '~', 0xa1, 0xe9, 0x6570, 0x1f600, 0xfffd, 0x30000};
    static const uint32_t no[] = {0,      0x1f,   0x7f,     0x80,    0xa0,   0xad,
                                  0x378,  0x200b, 0x2028,   0x3000,  0xd800, 0xe000,
                                  0xfeff, 0xffff, 0x10ffff, 0x110000};

    for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++)
        assert_true(utf8_printable(yes[i]));
    for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
        assert_false(utf8_printable(no[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decodes_what_it_encodes_and_refuses_surrogates),
        cmocka_unit_test(test_bad_bytes_are_found_where_they_are),
        cmocka_unit_test(test_counts_characters),
        cmocka_unit_test(test_clip_keeps_characters_whole),
        cmocka_unit_test(test_replacement_characters_are_python_s),
        cmocka_unit_test(test_upper_case_is_the_full_mapping),
        cmocka_unit_test(test_printable_is_python_s),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
