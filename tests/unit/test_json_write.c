/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "base/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"

/* What `text` becomes as a variable and as an argument. */
/* clang-format off */
static const struct row {
    const char *text;
    const char *variable, *argument;
} rows[] = {
    {"null", "", ""},
    {"true", "true", "True"},
    {"false", "false", "False"},
    {"-0", "0", "0"},
    {"1e16", "1e+16", "1e+16"},
    {"NaN", "NaN", "nan"},
    {"1e400", "Infinity", "inf"},
    {"-Infinity", "-Infinity", "-inf"},
    {"\"it's \\\"q\\\" \u00e9\\n\"", "it's \"q\" \u00e9\n", "it's \"q\" \u00e9\n"},
    {"{}", "{}", ""},
    {"[]", "[]", "[]"},
    {"{\"b\": 1, \"a\": {\"y\": [1, 2], \"x\": null}}", "{\"a\":{\"x\":null,\"y\":[1,2]},\"b\":1}",
     "a={'y': [1, 2], 'x': None},b=1"},
    {"[1, 2.5, \"three\", true, null]",
     "[1,2.5,\"three\",true,null]",
     "[1, 2.5, 'three', True, None]"},
    {"[[1], [], {}]", "[[1],[],{}]", "[[1], [], {}]"},
    {"[{\"k\": \"it's\"}, {\"k\": \"say \\\"hi\\\"\"}, {\"k\": \"both ' and \\\"\"}]",
     "[{\"k\":\"it's\"},{\"k\":\"say \\\"hi\\\"\"},{\"k\":\"both ' and \\\"\"}]",
     "[{'k': \"it's\"}, {'k': 'say \"hi\"'}, {'k': 'both \\' and \"'}]"},
    {"{\"a\": 1, \"b\": 2, \"a\": 3}", "{\"a\":3,\"b\":2}", "a=3,b=2"},
    {"[\"tab\\t\", \"nl\\n\", \"nul\\u0000\", \"\\\\\"]",
     "[\"tab\\t\",\"nl\\n\",\"nul\\u0000\",\"\\\\\"]",
     "['tab\\t', 'nl\\n', 'nul\\x00', '\\\\']"},
    {"[\"\\ud800\", \"\\udfff\\ud800\"]",
     "[\"\\ud800\",\"\\udfff\\ud800\"]",
     "['\\ud800', '\\udfff\\ud800']"},
    {"[\"\u00e9\", \"\u6570\", \"\U0001f600\", \"\\u200b\", "
     "\"\\u00a0\", \"\\u001f\", \"\\u007f\", \"\\u00ad\", \"/\"]",
     "[\"\\u00e9\",\"\\u6570\",\"\\ud83d\\ude00\",\"\\u200b\","
     "\"\\u00a0\",\"\\u001f\",\"\\u007f\",\"\\u00ad\",\"/\"]",
     "['\u00e9', '\u6570', '\U0001f600', '\\u200b', '\\xa0', '\\x1f', '\\x7f', '\\xad', '/']"},
    {"[\"\\b\\f\\r\", \"\\udb40\\udc01\"]",
     "[\"\\b\\f\\r\",\"\\udb40\\udc01\"]",
     "['\\x08\\x0c\\r', '\\U000e0001']"},
    {"{\"Z\": 1, \"a\": 2, \"B\": 3, \"_\": 4}",
     "{\"B\":3,\"Z\":1,\"_\":4,\"a\":2}",
     "B=3,Z=1,_=4,a=2"},
    {"{\"t\": true, \"f\": false, \"n\": null, \"s\": \"it's\"}",
     "{\"f\":false,\"n\":null,\"s\":\"it's\",\"t\":true}", "f=False,n=None,s=it's,t=True"},
};
/* clang-format on */

static void test_variables_and_arguments_are_the_contract_s(void **state)
{
    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct err err = ERR_INIT;
        auto_json cJSON *tree = json_parse(rows[i].text, strlen(rows[i].text), &err);
        auto_free char *variable = NULL;
        auto_free char *argument = NULL;

        assert_string_equal(err.text, "");
        variable = json_env_text(tree);
        argument = json_arg_text(tree);
        assert_string_equal(variable, rows[i].variable);
        assert_string_equal(argument, rows[i].argument);
    }
}

static void test_python_s_default_form_keeps_the_order_and_has_spaces(void **state)
{
    (void)state;
    const char *text =
        "{\"cluster\":{\"worker\":[\"a:2222\",\"b\u00e9\"]},\"a\":{},\"n\":[null,1.0]}";
    auto_json cJSON *tree = json_parse(text, strlen(text), NULL);
    auto_free char *written = json_python_default(tree);

    assert_string_equal(written,
                        "{\"cluster\": {\"worker\": [\"a:2222\", \"b\\u00e9\"]}, \"a\": {}, "
                        "\"n\": [null, 1.0]}");
}

static void test_repr_of_a_string_chooses_its_quotes(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"\"\"",                "''"               },
        {"\"a\"",               "'a'"              },
        {"\"it's\"",            "\"it's\""         },
        {"\"say \\\"hi\\\"\"",  "'say \"hi\"'"     },
        {"\"both ' and \\\"\"", "'both \\' and \"'"},
    };

    for (size_t i = 0; i < LENGTH(pairs); i++) {
        auto_json cJSON *tree = json_parse(pairs[i][0], strlen(pairs[i][0]), NULL);
        auto_buf struct buf out = {0};

        json_python_repr(&out, tree);
        assert_string_equal(buf_text(&out), pairs[i][1]);
    }
}

static void test_trees_of_our_own_are_written_the_same_way(void **state)
{
    (void)state;
    auto_json cJSON *tree = cJSON_CreateObject();
    auto_free char *text = NULL;

    json_add(tree, "size", json_new_integer(-9223372036854775807LL));
    json_add(tree, "rate", json_new_float(1e-7));
    json_add(tree, "none", NULL);
    json_add_string(tree, "text", "a\xff\u00e9");
    json_add_string(tree, "unset", NULL);
    text = json_env_text(tree);
    assert_string_equal(text, "{\"none\":null,\"rate\":1e-07,\"size\":-9223372036854775807,"
                              "\"text\":\"a\\ufffd\\u00e9\",\"unset\":null}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_variables_and_arguments_are_the_contract_s),
        cmocka_unit_test(test_python_s_default_form_keeps_the_order_and_has_spaces),
        cmocka_unit_test(test_repr_of_a_string_chooses_its_quotes),
        cmocka_unit_test(test_trees_of_our_own_are_written_the_same_way),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
