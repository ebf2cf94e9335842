/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/logform.h"
#include "core/logtail.h"

#include "base/buf.h"
#include "base/cleanup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct logform_who rank = {.host = "algo-1", .rank = 3, .local_rank = 1};
static const struct logform_who step = {.host = "algo-1", .step = "install", .is_err = true};

static void test_prefix_by_setting(void **state)
{
    static const struct {
        const char *format;
        bool labelled;
        const struct logform_who *who;
        const char *prefix;
    } cases[] = {
        {"auto",                                  true,  &rank, "[algo-1:3] "        },
        {"auto",                                  false, &rank, ""                   },
        {"auto",                                  true,  &step, "[algo-1:install] "  },
        {"auto",                                  false, &step, ""                   },
        {"off",                                   true,  &rank, ""                   },
        {"{host}/{rank}/{local_rank}/{stream}: ", false, &rank, "algo-1/3/1/stdout: "},
        {"{rank} {stream}|",                      true,  &step, "install stderr|"    },
        {"{rank",                                 true,  &rank, "{rank"              },
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(cases); i++) {
        auto_free char *prefix = logform_prefix(cases[i].format, cases[i].labelled, cases[i].who);

        assert_string_equal(prefix, cases[i].prefix);
    }
}

static void test_rank_list(void **state)
{
    (void)state;
    assert_true(logform_shows("all", 7));
    assert_true(logform_shows("0,2-5", 0));
    assert_false(logform_shows("0,2-5", 1));
    assert_true(logform_shows("0,2-5", 2));
    assert_true(logform_shows("0,2-5", 5));
    assert_false(logform_shows("0,2-5", 6));
    assert_true(logform_shows("1-2,9", 9));
}

static void test_json_line(void **state)
{
    auto_buf struct buf out = {0};

    (void)state;
    logform_json(&out, &rank, "2026-01-31T23:59:59.123Z", "a \"b\"\\\t\0\xff\xc3\xa4", 11, false);
    assert_string_equal(out.data,
                        "{\"time\":\"2026-01-31T23:59:59.123Z\",\"host\":\"algo-1\",\"rank\":3,"
                        "\"stream\":\"stdout\",\"line\":\"a \\\"b\\\"\\\\\\u0009\\u0000"
                        "\xef\xbf\xbd\xc3\xa4\"}\n");
    buf_clear(&out);
    logform_json(&out, &step, "T", "", 0, true);
    assert_string_equal(out.data, "{\"time\":\"T\",\"host\":\"algo-1\",\"step\":\"install\","
                                  "\"stream\":\"stderr\",\"line\":\"\",\"cut\":true}\n");
}

static void expect_tail(const struct logtail *t, const char *text, size_t n)
{
    size_t len;
    auto_free char *tail = logtail_copy(t, &len);

    assert_int_equal(len, n);
    assert_memory_equal(tail, text, n);
}

static void test_tail_is_the_last_bytes_however_they_came(void **state)
{
    char text[1000];

    (void)state;
    for (size_t i = 0; i < sizeof(text); i++)
        text[i] = (char)('!' + i % 90);
    for (size_t part = 1; part < 300; part += 7) {
        struct logtail t = {.cap = 100};
        size_t at = 0;

        expect_tail(&t, "", 0);
        while (at < sizeof(text)) {
            size_t n = part < sizeof(text) - at ? part : sizeof(text) - at;

            logtail_add(&t, text + at, n, 0);
            at += n;
            n = at < 100 ? at : 100;
            expect_tail(&t, text + at - n, n);
        }
        assert_int_equal(t.total, sizeof(text));
        logtail_done(&t);
    }
}

static void test_traceback_is_found_across_chunks(void **state)
{
    static const char text[] = "epoch 1\n" LOGTAIL_TRACEBACK ":\n  File \"train.py\"\n";

    (void)state;
    for (size_t cut = 1; cut < sizeof(text) - 1; cut++) {
        struct logtail t = {.cap = 64, .search = true};

        logtail_add(&t, text, cut, 5);
        logtail_add(&t, text + cut, sizeof(text) - 1 - cut, 6);
        assert_int_equal(t.error_ms, cut >= 8 + strlen(LOGTAIL_TRACEBACK) ? 5 : 6);
        logtail_add(&t, "more\n", 5, 7);
        assert_true(t.error_ms < 7);
        logtail_done(&t);
    }
}

static void test_last_traceback_counts_and_only_where_asked(void **state)
{
    struct logtail err = {.cap = 64, .search = true}, out = {.cap = 64};

    (void)state;
    for (uint64_t now = 3; now < 9; now += 5) {
        logtail_add(&err, LOGTAIL_TRACEBACK "\n", strlen(LOGTAIL_TRACEBACK) + 1, now);
        logtail_add(&out, LOGTAIL_TRACEBACK "\n", strlen(LOGTAIL_TRACEBACK) + 1, now);
    }
    assert_int_equal(err.error_ms, 8);
    assert_int_equal(out.error_ms, 0);
    logtail_done(&err);
    logtail_done(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_prefix_by_setting),
        cmocka_unit_test(test_rank_list),
        cmocka_unit_test(test_json_line),
        cmocka_unit_test(test_tail_is_the_last_bytes_however_they_came),
        cmocka_unit_test(test_traceback_is_found_across_chunks),
        cmocka_unit_test(test_last_traceback_counts_and_only_where_asked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
