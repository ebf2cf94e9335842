/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/lines.h"

#include "base/buf.h"
#include "base/utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* What was shown, as the console has it without a prefix; `joined` without the cuts. */
struct shown {
    struct buf text, joined;
    size_t n, longest;
    bool torn; /* a piece is not UTF-8 */
};

static void show(void *data, const char *text, size_t n, unsigned cut)
{
    struct shown *s = data;

    s->n++;
    s->longest = n > s->longest ? n : s->longest;
    s->torn = s->torn || utf8_check(text, n) != n;
    if (cut & LINES_CONTINUES)
        buf_char(&s->text, '\\');
    buf_add(&s->text, text, n);
    buf_add(&s->joined, text, n);
    buf_str(&s->text, cut & LINES_GOES_ON ? "\\\n" : "\n");
    if (!(cut & LINES_GOES_ON))
        buf_char(&s->joined, '\n');
}

static void shown_done(struct shown *s)
{
    buf_done(&s->text);
    buf_done(&s->joined);
}

static struct lines make(struct shown *s, size_t max)
{
    return (struct lines){.show = show, .data = s, .max = max, .per_s = 2};
}

static void feed(struct lines *l, const char *text, uint64_t now_ms)
{
    lines_feed(l, text, strlen(text), now_ms);
}

static void expect(struct shown *s, const char *text)
{
    assert_string_equal(buf_text(&s->text), text);
    buf_clear(&s->text);
}

static void test_shows_whole_lines_only(void **state)
{
    struct shown s = {0};
    struct lines l = make(&s, 100);

    (void)state;
    feed(&l, "part", 0);
    expect(&s, "");
    feed(&l, "ial\nnext", 0);
    expect(&s, "partial\n");
    lines_end(&l, 0);
    expect(&s, "next\n");
    lines_done(&l);
    shown_done(&s);
}

static void test_keeps_blanks_empty_lines_and_any_byte(void **state)
{
    static const char text[] = "\n\tindented\n    more  \n\n\xff\xfe\0\x80\n\033[31mred\033[0m\n";
    struct shown s = {0};
    struct lines l = make(&s, 100);

    (void)state;
    for (size_t i = 0; i < sizeof(text) - 1; i++)
        lines_feed(&l, text + i, 1, 0);
    assert_int_equal(s.text.len, sizeof(text) - 1);
    assert_memory_equal(s.text.data, text, sizeof(text) - 1);
    lines_done(&l);
    shown_done(&s);
}

static void test_cuts_long_lines_at_character_borders(void **state)
{
    struct shown s = {0};
    struct lines l = make(&s, 8);

    (void)state;
    feed(&l, "12345678\n1234567\xc3\xa4z\n", 0);
    expect(&s, "12345678\n1234567\\\n\\\xc3\xa4z\n");
    lines_done(&l);
    shown_done(&s);
}

static void test_a_line_of_exactly_the_limit_is_whole_with_crlf_too(void **state)
{
    struct shown s = {0};
    struct lines l = make(&s, 4);

    (void)state;
    feed(&l, "1234\r", 0);
    feed(&l, "\n", 0);
    expect(&s, "1234\n");
    lines_done(&l);
    shown_done(&s);
}

/* Text of the bits that matter: line ends, characters of all lengths, and broken ones at last. */
static void random_text(struct buf *out, bool valid, unsigned *seed)
{
    static const char *const bits[] = {
        "\n",         "\r\n", "a",        "word", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80",
        "          ", "\xff", "\xe2\x82",
    };
    size_t n = sizeof(bits) / sizeof(bits[0]) - (valid ? 2 : 0);

    for (size_t i = 0; i < 120; i++)
        buf_str(out, bits[(size_t)rand_r(seed) % n]);
    buf_char(out, '\n');
}

static void feed_in_parts(struct lines *l, const struct buf *text, size_t longest, unsigned *seed)
{
    for (size_t at = 0; at < text->len;) {
        size_t n = 1 + (size_t)rand_r(seed) % longest;

        n = n < text->len - at ? n : text->len - at;
        lines_feed(l, text->data + at, n, 0);
        at += n;
    }
    lines_end(l, 0);
    lines_done(l);
}

static void without_cr(struct buf *text)
{
    size_t to = 0;

    for (size_t i = 0; i < text->len; i++)
        if (text->data[i] != '\r')
            text->data[to++] = text->data[i];
    text->len = to;
}

static void test_pieces_join_to_the_line_however_it_came(void **state)
{
    unsigned seed = 20250131;

    (void)state;
    for (int round = 0; round < 300; round++) {
        struct buf text = {0};
        struct shown whole = {0}, parts = {0}, bytes = {0};
        size_t max = LINES_MAX_LEAST + (size_t)round % 13;
        struct lines a = make(&whole, max), b = make(&parts, max), c = make(&bytes, max);

        b.together = round % 2;
        random_text(&text, round % 3, &seed);
        feed_in_parts(&a, &text, 1, &seed);
        feed_in_parts(&b, &text, 40, &seed);
        lines_feed(&c, text.data, text.len, 0);
        lines_done(&c);
        without_cr(&text);
        assert_int_equal(whole.joined.len, text.len);
        assert_memory_equal(whole.joined.data, text.data, text.len);
        assert_int_equal(parts.text.len, whole.text.len);
        assert_memory_equal(parts.text.data, whole.text.data, whole.text.len);
        assert_int_equal(bytes.text.len, whole.text.len);
        assert_memory_equal(bytes.text.data, whole.text.data, whole.text.len);
        assert_true(whole.longest <= max && bytes.longest <= max);
        assert_false(round % 3 && (whole.torn || parts.torn || bytes.torn));
        shown_done(&whole);
        shown_done(&parts);
        shown_done(&bytes);
        buf_done(&text);
    }
}

static void test_several_lines_at_once_are_the_same_text(void **state)
{
    struct shown s = {0};
    struct lines l = make(&s, 100);

    (void)state;
    l.together = true;
    feed(&l, "one\ntwo\n\nthree\npart", 0);
    assert_int_equal(s.n, 1);
    feed(&l, "ial\nfour\nfive\n", 0);
    assert_int_equal(s.n, 3);
    expect(&s, "one\ntwo\n\nthree\npartial\nfour\nfive\n");
    lines_done(&l);
    shown_done(&s);
}

static void test_crlf_ends_a_line_also_across_chunks(void **state)
{
    struct shown s = {0};
    struct lines l = make(&s, 100);

    (void)state;
    feed(&l, "a\r\nb\r", 0);
    expect(&s, "a\n");
    feed(&l, "\n\r\nc\r\r\n", 0);
    expect(&s, "b\n\nc\n");
    assert_int_equal(lines_due_ms(&l), 0);
    lines_done(&l);
    shown_done(&s);
}

static void test_a_bar_is_shown_a_few_times_a_second_and_ends_with_its_last_state(void **state)
{
    struct shown s = {0};
    struct lines l = make(&s, 100);
    struct buf update = {0};

    (void)state;
    for (unsigned i = 1; i <= 200; i++) {
        buf_clear(&update);
        buf_printf(&update, "\r%3u%%", i / 2);
        lines_feed(&l, update.data, update.len, 1000 + i * 25);
    }
    assert_in_range(s.n, 8, 11);
    buf_clear(&s.text);
    lines_feed(&l, "\n", 1, 6000);
    expect(&s, " 99%\n100%\n");
    assert_true(l.held.cap + l.state.cap < 1024);
    buf_done(&update);
    lines_done(&l);
    shown_done(&s);
}

static void test_the_latest_state_is_shown_when_its_time_comes(void **state)
{
    struct shown s = {0};
    struct lines l = make(&s, 100);

    (void)state;
    feed(&l, "\r1%\r2%\r3%\r4", 1000);
    expect(&s, "1%\n");
    assert_int_equal(lines_due_ms(&l), 1500);
    lines_tick(&l, 1499);
    expect(&s, "");
    lines_tick(&l, 1500);
    expect(&s, "3%\n");
    assert_int_equal(lines_due_ms(&l), 0);
    lines_end(&l, 1501);
    expect(&s, "4\n");
    lines_done(&l);
    shown_done(&s);
}

static void test_the_latest_state_comes_before_the_next_line(void **state)
{
    struct shown s = {0};
    struct lines l = make(&s, 100);

    (void)state;
    feed(&l, "1%\r2%\r3%\rdone\n", 1000);
    expect(&s, "1%\n3%\ndone\n");
    lines_done(&l);
    shown_done(&s);
}

static void test_a_bar_without_an_end_shows_its_last_state_at_eof(void **state)
{
    struct shown s = {0};
    struct lines l = make(&s, 100);

    (void)state;
    feed(&l, "1%\r2%\r3%\r", 1000);
    lines_end(&l, 1001);
    expect(&s, "1%\n3%\n");
    feed(&l, "\r7%\r8%\r9%", 5000);
    lines_end(&l, 5001);
    expect(&s, "7%\n8%\n9%\n");
    lines_done(&l);
    shown_done(&s);
}

static void test_a_text_that_rests_behind_cr_is_shown_once(void **state)
{
    struct shown s = {0};
    struct lines l = make(&s, 100);

    (void)state;
    feed(&l, "50%\r", 1000);
    assert_int_not_equal(lines_due_ms(&l), 0);
    lines_tick(&l, 1001);
    expect(&s, "50%\n");
    feed(&l, "\nnext\n", 2000);
    expect(&s, "next\n");
    feed(&l, "60%\r", 3000);
    lines_tick(&l, 3001);
    feed(&l, "70%\r", 4000);
    lines_tick(&l, 4001);
    expect(&s, "60%\n70%\n");
    lines_end(&l, 4002);
    expect(&s, "");
    lines_done(&l);
    shown_done(&s);
}

static void test_a_bar_that_wipes_itself_leaves_no_blank_line(void **state)
{
    struct shown s = {0};
    struct lines l = make(&s, 100);

    (void)state;
    feed(&l, "\r10%\r100%\r    \rdone\n", 1000);
    expect(&s, "10%\n100%\ndone\n");
    feed(&l, "   \r", 2000);
    assert_int_equal(lines_due_ms(&l), 0);
    feed(&l, "\n", 2000);
    expect(&s, "   \n");
    lines_done(&l);
    shown_done(&s);
}

static void test_a_state_beyond_the_limit_is_cut_like_a_line(void **state)
{
    struct shown s = {0};
    struct lines l = make(&s, 8);

    (void)state;
    feed(&l, "1%\r2%\r12345678abcdefghXYZ\r3%\n", 1000);
    expect(&s, "1%\n2%\n12345678\\\n\\abcdefgh\\\n\\XYZ\n3%\n");
    feed(&l, "123456789\r", 2000); /* just beyond: cut when it is shown */
    lines_end(&l, 2000);
    expect(&s, "12345678\\\n\\9\n");
    lines_done(&l);
    shown_done(&s);
}

static void test_memory_stays_bounded_for_an_endless_line(void **state)
{
    static const char chunk[4096];
    struct shown s = {0};
    struct lines l = make(&s, 65536);

    (void)state;
    s.text.max = s.joined.max = 100;
    for (int i = 0; i < 1000; i++)
        lines_feed(&l, chunk, sizeof(chunk), 0);
    assert_true(l.held.cap <= 2UL * (65536 + 4096 + 4));
    assert_in_range(s.n, 60, 63);
    lines_done(&l);
    shown_done(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shows_whole_lines_only),
        cmocka_unit_test(test_keeps_blanks_empty_lines_and_any_byte),
        cmocka_unit_test(test_cuts_long_lines_at_character_borders),
        cmocka_unit_test(test_a_line_of_exactly_the_limit_is_whole_with_crlf_too),
        cmocka_unit_test(test_pieces_join_to_the_line_however_it_came),
        cmocka_unit_test(test_several_lines_at_once_are_the_same_text),
        cmocka_unit_test(test_crlf_ends_a_line_also_across_chunks),
        cmocka_unit_test(test_a_bar_is_shown_a_few_times_a_second_and_ends_with_its_last_state),
        cmocka_unit_test(test_the_latest_state_is_shown_when_its_time_comes),
        cmocka_unit_test(test_the_latest_state_comes_before_the_next_line),
        cmocka_unit_test(test_a_bar_without_an_end_shows_its_last_state_at_eof),
        cmocka_unit_test(test_a_text_that_rests_behind_cr_is_shown_once),
        cmocka_unit_test(test_a_bar_that_wipes_itself_leaves_no_blank_line),
        cmocka_unit_test(test_a_state_beyond_the_limit_is_cut_like_a_line),
        cmocka_unit_test(test_memory_stays_bounded_for_an_endless_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
