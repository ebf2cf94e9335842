/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "base/log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/buf.h"
#include "base/json.h"

static void collect(void *data, const char *line, size_t n)
{
    buf_add(data, line, n);
}

static void begin(struct buf *lines, enum log_level least, bool json)
{
    log_set_level(least);
    log_set_json(json);
    log_to(collect, lines);
}

static void test_a_call_is_a_line_with_its_level(void **state)
{
    (void)state;
    auto_buf struct buf lines = {0};

    begin(&lines, LOG_INFO, false);
    log_debug("not shown");
    log_info("code: %d bytes", 7);
    log_warning("careful");
    log_error("broken");
    log_to(NULL, NULL);
    assert_string_equal(buf_text(&lines), "serried: code: 7 bytes\nserried: warning: careful\n"
                                          "serried: error: broken\n");
    assert_true(log_has(LOG_INFO));
    assert_false(log_has(LOG_DEBUG));
}

static void test_control_characters_cannot_forge_lines(void **state)
{
    (void)state;
    auto_buf struct buf lines = {0};

    begin(&lines, LOG_INFO, false);
    log_info("%s", "a\nserried: error: b\x1b[31m\x7f");
    log_to(NULL, NULL);
    assert_string_equal(buf_text(&lines), "serried: a\\x0aserried: error: b\\x1b[31m\\x7f\n");
}

static const char *message_of(const struct buf *line, cJSON **tree)
{
    *tree = json_parse(buf_text(line), line->len, NULL);
    assert_non_null(*tree);
    assert_non_null(json_string(json_get(*tree, "time")));
    return json_string(json_get(*tree, "message"));
}

static void test_json_lines_hold_any_message(void **state)
{
    (void)state;
    auto_buf struct buf lines = {0};
    auto_json cJSON *tree = NULL;

    begin(&lines, LOG_INFO, true);
    log_warning("%s", "quote \" line\n byte \xff \xc3\xa9");
    log_to(NULL, NULL);
    assert_string_equal(message_of(&lines, &tree), "quote \" line\n byte \xef\xbf\xbd \xc3\xa9");
    assert_string_equal(json_string(json_get(tree, "level")), "warning");
    assert_ptr_equal(strchr(lines.data, '\n'), lines.data + lines.len - 1);
}

static void test_a_huge_message_is_cut_and_stays_one_valid_line(void **state)
{
    (void)state;
    static char huge[200000];

    for (int json = 0; json <= 1; json++) {
        auto_buf struct buf lines = {0};
        auto_json cJSON *tree = NULL;

        memset(huge, json ? '\x01' : 'x', sizeof(huge) - 1);
        begin(&lines, LOG_INFO, json);
        log_info("%s", huge);
        log_to(NULL, NULL);
        assert_true(lines.len > 10000 && lines.len < sizeof(huge));
        assert_ptr_equal(strchr(lines.data, '\n'), lines.data + lines.len - 1);
        if (json)
            assert_memory_equal(message_of(&lines, &tree), huge, 10000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_call_is_a_line_with_its_level),
        cmocka_unit_test(test_control_characters_cannot_forge_lines),
        cmocka_unit_test(test_json_lines_hold_any_message),
        cmocka_unit_test(test_a_huge_message_is_cut_and_stays_one_valid_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
