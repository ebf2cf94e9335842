/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "base/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/files.h"
#include "base/mem.h"

static struct err err;

static cJSON *parse(const char *text)
{
    err = (struct err)ERR_INIT;
    return json_parse(text, strlen(text), &err);
}

/* `text` is a number whose node holds `expected`. */
static void assert_number(const char *text, const char *expected)
{
    auto_json cJSON *tree = parse(text);

    assert_true(json_is_number(tree));
    assert_string_equal(tree->valuestring, expected);
}

static void assert_string(const char *text, const char *expected)
{
    auto_json cJSON *tree = parse(text);

    assert_non_null(json_string(tree));
    assert_string_equal(json_string(tree), expected);
}

static void assert_refused(const char *text, int code)
{
    assert_null(parse(text));
    assert_int_equal(err.code, code);
    assert_int_equal(err.blame, BLAME_CONFIG);
}

static void assert_fault(const char *text, const char *sentence)
{
    assert_null(parse(text));
    assert_string_equal(err.text, sentence);
}

static void test_integers_stay_exact(void **state)
{
    (void)state;
    assert_number("7", "7");
    assert_number("  -3 \n", "-3");
    assert_number("-0", "0");
    assert_number("123456789012345678901234567890", "123456789012345678901234567890");
}

static void test_floats_become_python_s(void **state)
{
    (void)state;
    assert_number("1e3", "1000.0");
    assert_number("1E+2", "100.0");
    assert_number("1e16", "1e+16");
    assert_number("1e-05", "1e-05");
    assert_number("-0.0", "-0.0");
    assert_number("3.141592653589793238462643", "3.141592653589793");
    assert_number("1e400", "Infinity");
    assert_number("-1e400", "-Infinity");
    assert_number("1e-400", "0.0");
    assert_number("NaN", "NaN");
    assert_number("-Infinity", "-Infinity");
}

static void test_what_python_calls_no_json_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",        " ",           "01",       "-01",        "1.",
        ".5",      "+1",          "0x10",     "1_000",      "1e",
        "1.e5",    "-",           "True",     "None",       "nan",
        "-NaN",    "'a'",         "\"abc",    "\"a\nb\"",   "\"\x01\"",
        "\"\\q\"", "\"\\u12g4\"", "[1,]",     "[,1]",       "[1 2]",
        "{a:1}",   "{\"a\"}",     "{\"a\":}", "{\"a\":1,}", "{1:2}",
        "1 2",     "[1]]",        "nul",      "tru",        "\ufeff1",
        "\u00a07", "\f1",         "[",        "{\"a\":1",   "\"\\ud83d\\uzzzz\"",
    };

    for (size_t i = 0; i < LENGTH(texts); i++)
        assert_refused(texts[i], -EINVAL);
    assert_null(json_parse("1\0", 2, &err));
    assert_int_equal(err.code, -EINVAL);
}

static void test_text_needs_no_nul_at_its_end(void **state)
{
    (void)state;
    static const char digits[] = {'1', '2'};
    static const char word[] = {'t', 'r'};
    auto_json cJSON *tree = json_parse(digits, 1, NULL);

    assert_string_equal(tree->valuestring, "1");
    assert_null(json_parse(word, 2, NULL));
}

static void test_escapes_are_undone_and_surrogate_pairs_joined(void **state)
{
    (void)state;
    assert_string("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t");
    assert_string("\"a\\u00e9\\ud83d\\ude00\\uFEFF\"", "a\u00e9\U0001f600\ufeff");
    assert_string("\"na\u00efve \u6570\"", "na\u00efve \u6570");
    assert_string("\"\x7f\"", "\x7f");
}

static void test_nul_and_half_pairs_are_refused_where_they_would_stand_bare(void **state)
{
    (void)state;
    assert_refused("\"a\\u0000\"", -EILSEQ);
    assert_refused("\"\\ud800\"", -EILSEQ);
    assert_refused("\"\\ud800\\u0041\"", -EILSEQ);
    assert_refused("\"\\ude00\\ud83d\"", -EILSEQ);
    assert_refused("{\"a\":\"\\u0000\"}", -EILSEQ);
    assert_refused("{\"\\udc00\":1}", -EILSEQ);
    assert_fault("{\"a\": 1,\n \"b\": \"x\\u0000\"}",
                 "line 2, column 7: expected plain text, found a string with \\u0000 or half a "
                 "surrogate pair");
}

static void test_nul_and_half_pairs_pass_where_every_output_spells_them(void **state)
{
    (void)state;
    auto_json cJSON *list = parse("[\"nul\\u0000\", {\"\\ud800\": 1}]");
    auto_json cJSON *object = parse("{\"a\": {\"b\\u0000\": \"\\udc00\"}}");

    assert_non_null(list);
    assert_non_null(object);
    assert_string_equal(json_string(list->child), "nul\xc0\x80");
}

static void test_files_hold_plain_text_only(void **state)
{
    (void)state;
    const char *text = "{\"l\": [\"nul\\u0000\"]}";

    assert_null(json_parse_file_text(text, strlen(text), &err));
    assert_int_equal(err.code, -EILSEQ);
}

static void test_what_is_no_json_at_all_is_so_despite_an_earlier_nul(void **state)
{
    (void)state;
    assert_refused("\"\\u0000\" x", -EINVAL);
    assert_refused("{\"a\": \"\\ud800\", ", -EINVAL);
}

static void test_bytes_that_are_not_utf8_are_refused_with_their_place(void **state)
{
    (void)state;
    assert_null(parse("[1,\n\"\u00e9\xff\"]"));
    assert_int_equal(err.code, -EILSEQ);
    assert_string_equal(err.text, "line 2, column 3: expected UTF-8, found byte 0xff, offset 7");
}

static void test_faults_are_told_with_their_place(void **state)
{
    (void)state;
    assert_fault("{\"a\": 1\n\n  , \"b\": [1, 2",
                 "line 3, column 15: expected ',' or ']', found end of text");
    assert_fault("{\"\u00e9\u6570\" 1}", "line 1, column 7: expected ':', found '1'");
    assert_fault("{\"a\": 1 \"b\"}", "line 1, column 9: expected ',' or '}', found '\"'");
    assert_fault("{\"a\": 1,}", "line 1, column 9: expected a name in double quotes, found '}'");
    assert_fault("{x", "line 1, column 2: expected a name in double quotes or '}', found 'x'");
    assert_fault("\"a\tb\"",
                 "line 1, column 3: expected '\"' at the end of the string, found U+0009");
    assert_fault("01", "line 1, column 2: expected the end of the text, found '1'");
    assert_fault("-x", "line 1, column 2: expected a digit, found 'x'");
    assert_fault("\u00a07", "line 1, column 1: expected a value, found U+00A0");
}

/* `times` pieces, a comma between them if `comma`, with `before` and `after`, to free(). */
static char *repeated(const char *before, const char *piece, const char *after, int times,
                      bool comma)
{
    struct buf out = {0};

    buf_str(&out, before);
    for (int i = 0; i < times; i++) {
        buf_str(&out, comma && i ? "," : "");
        buf_str(&out, piece);
    }
    buf_str(&out, after);
    return buf_take(&out);
}

static void test_depth_has_a_bound(void **state)
{
    (void)state;
    auto_free char *open = repeated("", "[", "", JSON_DEPTH_MAX + 1, false);
    auto_free char *close = repeated("", "]", "", JSON_DEPTH_MAX, false);
    auto_free char *whole = mem_printf("%s%s", open + 1, close);
    auto_json cJSON *tree = parse(whole);

    assert_non_null(tree);
    assert_refused(open, -E2BIG);
}

static void test_members_and_values_have_bounds(void **state)
{
    (void)state;
    auto_free char *members = repeated("{", "\"a\":1", "}", JSON_MEMBERS_MAX, true);
    auto_free char *too_many_members = repeated("{", "\"a\":1", "}", JSON_MEMBERS_MAX + 1, true);
    auto_free char *values = repeated("[", "0", "]", JSON_VALUES_MAX - 1, true);
    auto_free char *too_many_values = repeated("[", "0", "]", JSON_VALUES_MAX, true);
    auto_json cJSON *one = parse(members);
    auto_json cJSON *list = parse(values);

    assert_int_equal(cJSON_GetArraySize(one), 1);
    assert_int_equal(cJSON_GetArraySize(list), JSON_VALUES_MAX - 1);
    assert_refused(too_many_members, -E2BIG);
    assert_refused(too_many_values, -E2BIG);
}

static void test_repeated_keys_keep_the_first_place_and_the_last_value(void **state)
{
    (void)state;
    auto_json cJSON *tree =
        parse("{\"a\": 1, \"b\": 2, \"a\": [3], \"c\": 4, \"b\": 5, \"a\": 6, \"A\": 7}");
    auto_free char *text = json_python_default(tree);

    assert_string_equal(text, "{\"a\": 6, \"b\": 5, \"c\": 4, \"A\": 7}");
}

static void test_members_are_found_by_exact_name(void **state)
{
    (void)state;
    auto_json cJSON *tree = parse("{\"Name\": \"x\", \"list\": [], \"\": null}");

    assert_string_equal(json_string(json_get(tree, "Name")), "x");
    assert_null(json_get(tree, "name"));
    assert_true(cJSON_IsNull(json_get(tree, "")));
    assert_null(json_get(json_get(tree, "list"), "x"));
    assert_null(json_get(NULL, "x"));
    assert_null(json_string(json_get(tree, "list")));
    assert_null(json_string(NULL));
}

static void test_integers_are_told_from_floats_and_bounded(void **state)
{
    (void)state;
    auto_json cJSON *tree = parse("[42, 42.0, \"42\", 99999999999999999999, NaN, -5]");
    long value = 0;

    assert_true(json_integer(cJSON_GetArrayItem(tree, 0), 0, 100, &value));
    assert_int_equal(value, 42);
    assert_false(json_integer(cJSON_GetArrayItem(tree, 0), 0, 41, &value));
    assert_false(json_integer(cJSON_GetArrayItem(tree, 1), 0, 100, &value));
    assert_false(json_integer(cJSON_GetArrayItem(tree, 2), 0, 100, &value));
    assert_false(json_integer(cJSON_GetArrayItem(tree, 3), 0, 100, &value));
    assert_false(json_is_integer(cJSON_GetArrayItem(tree, 4)));
    assert_true(json_integer(cJSON_GetArrayItem(tree, 5), -5, 100, &value));
    assert_true(json_is_integer(cJSON_GetArrayItem(tree, 3)));
}

static void test_truth_is_python_s(void **state)
{
    (void)state;
    auto_json cJSON *no = parse("[false, null, 0, -0, 0.0, -0.0, \"\", {}, [], 1e-400]");
    auto_json cJSON *yes = parse("[true, 1, -1, 0.1, NaN, \"false\", \" \", [0], {\"a\": null}]");
    const cJSON *node;

    cJSON_ArrayForEach (node, no)
        assert_false(json_truth(node));
    cJSON_ArrayForEach (node, yes)
        assert_true(json_truth(node));
    assert_false(json_truth(NULL));
}

static void test_kinds_are_named_for_people(void **state)
{
    (void)state;
    static const char *const kinds[] = {"a list",   "an object",     "a string",
                                        "a number", "true or false", "null"};
    auto_json cJSON *tree = parse("[[], {}, \"\", 1, true, null]");

    for (int i = 0; i < 6; i++)
        assert_string_equal(json_kind(cJSON_GetArrayItem(tree, i)), kinds[i]);
}

static void test_members_sort_by_code_points(void **state)
{
    (void)state;
    auto_json cJSON *tree = parse("[{\"b\": 1, \"\uffee\": 2, \"\U0001f600\": 3, \"B\": 4, \"\": "
                                  "5, \"ab\": 6, \"a\\u0000\": 7, \"a\": 8}]");
    static const int expected[] = {4, 3, 7, 6, 5, 0, 1, 2};
    size_t n = 0;
    auto_free struct json_member *sorted = json_sorted(tree->child, &n);

    assert_int_equal(n, 8);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(sorted[i].at, expected[i]);
}

static void test_files_may_begin_with_a_byte_order_mark(void **state)
{
    (void)state;
    char path[] = "/tmp/test_json.XXXXXX";
    int fd = mkstemp(path);
    auto_json cJSON *tree = NULL;

    assert_true(fd >= 0);
    (void)close(fd);
    assert_int_equal(file_write(path, "\ufeff{\"a\": 1}\n", 12), 0);
    tree = json_read(path, 100, &err);
    assert_true(cJSON_IsObject(tree));
    assert_int_equal(file_write(path, "{\n1", 3), 0);
    assert_null(json_read(path, 100, &err));
    assert_null(json_read(path, 100, NULL));
    (void)unlink(path);
    assert_memory_equal(err.text, path, strlen(path));
    assert_non_null(strstr(err.text, ": line 2, column 1: expected a name"));
    assert_null(json_read(path, 100, &err));
    assert_int_equal(err.code, -ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_integers_stay_exact),
        cmocka_unit_test(test_floats_become_python_s),
        cmocka_unit_test(test_what_python_calls_no_json_is_refused),
        cmocka_unit_test(test_text_needs_no_nul_at_its_end),
        cmocka_unit_test(test_escapes_are_undone_and_surrogate_pairs_joined),
        cmocka_unit_test(test_nul_and_half_pairs_are_refused_where_they_would_stand_bare),
        cmocka_unit_test(test_nul_and_half_pairs_pass_where_every_output_spells_them),
        cmocka_unit_test(test_files_hold_plain_text_only),
        cmocka_unit_test(test_what_is_no_json_at_all_is_so_despite_an_earlier_nul),
        cmocka_unit_test(test_bytes_that_are_not_utf8_are_refused_with_their_place),
        cmocka_unit_test(test_faults_are_told_with_their_place),
        cmocka_unit_test(test_depth_has_a_bound),
        cmocka_unit_test(test_members_and_values_have_bounds),
        cmocka_unit_test(test_repeated_keys_keep_the_first_place_and_the_last_value),
        cmocka_unit_test(test_members_are_found_by_exact_name),
        cmocka_unit_test(test_integers_are_told_from_floats_and_bounded),
        cmocka_unit_test(test_truth_is_python_s),
        cmocka_unit_test(test_kinds_are_named_for_people),
        cmocka_unit_test(test_members_sort_by_code_points),
        cmocka_unit_test(test_files_may_begin_with_a_byte_order_mark),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
