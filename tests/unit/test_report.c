/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "core/report.h"
#include "core/wire.h"
#include "outcomes.h"

static char *failure(const struct verdict_input *in, const struct redact *redact)
{
    struct verdict *v = verdict_new(in);
    char *text = report_failure(v, in, redact);

    verdict_free(v);
    assert_true(strlen(text) <= REPORT_MAX);
    assert_int_equal(utf8_check(text, strlen(text)), strlen(text));
    if (strlen(text) > REPORT_HEAD)
        assert_int_equal(utf8_check(text, REPORT_HEAD), REPORT_HEAD);
    return text;
}

static char *failure_of(const struct outcome *o, size_t n)
{
    struct verdict_input in = {
        .outcomes = o, .n = n, .host = "algo-1", .memory = {.readable = true}};

    return failure(&in, NULL);
}

static char *summary(const struct verdict_input *in)
{
    struct verdict *v = verdict_new(in);
    char *text = report_summary(v, in, NULL);

    verdict_free(v);
    return text;
}

static void test_report_short_failure_is_whole(void **state)
{
    struct outcome o = ended(0, 3, 900, TB("ValueError: bad learning rate"));
    auto_free char *text = failure_of(&o, 1);

    (void)state;
    assert_string_equal(text, "user: exit code 3, rank 0 on algo-1\n"
                              "ValueError: bad learning rate\n"
                              "\n" TB("ValueError: bad learning rate"));
}

/* Field case 25: frames of non-ASCII text, at every place of the border. */
static void test_report_best_things_come_within_the_first_kilobyte(void **state)
{
    (void)state;
    for (unsigned shift = 0; shift < 8; shift++) {
        auto_buf struct buf err = {0};
        auto_free char *text = NULL;
        auto_free char *head = NULL;
        struct outcome o[2];

        for (int i = 0; i < 300; i++)
            buf_printf(&err, "line %d\n", i);
        buf_str(&err, "Traceback (most recent call last):\n");
        for (int i = 0; i < 60; i++)
            buf_printf(&err, "  File \"größe%.*s.py\", line %d, in f\n    größe(€€€€€€)\n",
                       (int)shift, "12345678", i);
        buf_str(&err, "ValueError: größe€ ist falsch\n");
        o[0] = ended(0, 3, 900, buf_text(&err));
        o[1] = ended(1, 1, 950, RESET);
        text = failure_of(o, 2);
        head = mem_dup_n(text, REPORT_HEAD);
        assert_memory_equal(head, "user: exit code 3, rank 0 on algo-1\nValueError: größe€ ist",
                            55);
        assert_non_null(strstr(head, "line 59, in f\n    größe(€€€€€€)\n"));
        assert_non_null(strstr(head, "\n...\n"));
        assert_true(strstr(text, "in full:") - text > REPORT_HEAD - 120); /* it was made use of */
        assert_null(strstr(head, "line 299"));
        assert_non_null(strstr(text, "(most recent call last)"));
        assert_non_null(strstr(text, "\nfollowers:\nrank 1 on algo-1: exit code 1: Connection"));
    }
}

static void test_report_cuts_one_huge_line_at_character_borders(void **state)
{
    (void)state;
    for (unsigned shift = 0; shift < 4; shift++) {
        auto_buf struct buf err = {0};
        auto_free char *text = NULL;
        struct outcome o;

        buf_printf(&err, "Traceback (most recent call last):\n  File \"x\"\nE: %.*s", (int)shift,
                   "xxxx");
        for (int i = 0; i < 7000; i++)
            buf_str(&err, "€");
        o = ended(0, 1, 900, buf_text(&err));
        text = failure_of(&o, 1);
        assert_memory_equal(text, "user: exit code 1, rank 0 on algo-1\nE: ", 39);
    }
}

static void test_report_many_followers_are_counted(void **state)
{
    struct outcome o[300];
    auto_free char *text = NULL;

    (void)state;
    for (unsigned i = 0; i < LENGTH(o); i++)
        o[i] = ended(i, 1, 900 + i, i ? RESET : TB("ValueError: bad shard"));
    text = failure_of(o, LENGTH(o));
    assert_non_null(strstr(text, "rank 64 on algo-1: "));
    assert_non_null(strstr(text, "\nand 235 more\n"));
}

static void test_report_trouble_is_one_sentence(void **state)
{
    struct err trouble = ERR_INIT;
    struct verdict_input in = {.trouble = &trouble, .host = ""};
    auto_free char *text = NULL;

    (void)state;
    (void)err_set(&trouble, BLAME_CONFIG, -EINVAL, "resourceconfig.json: /hosts: expected a list");
    text = failure(&in, NULL);
    assert_string_equal(text, "configuration: resourceconfig.json: /hosts: expected a list\n");
}

static void test_report_a_failed_step_carries_its_last_lines(void **state)
{
    auto_buf struct buf out = {0};
    auto_free char *text = NULL;
    struct outcome o = ended(0, 1, 900, NULL);

    (void)state;
    for (int i = 1; i <= 50; i++)
        buf_printf(&out, "installer line %d\n", i);
    o.step = "install";
    o.last_out = out.data;
    o.last_out_len = out.len;
    text = failure_of(&o, 1);
    assert_memory_equal(text, "user: exit code 1, step install on algo-1\ninstaller line 50\n", 60);
    assert_non_null(strstr(text, "installer line 49\n"));
}

static void test_report_holds_no_secrets(void **state)
{
    struct outcome o = ended(0, 1, 900, TB("ValueError: no hunter2222 here"));
    struct verdict_input in = {.outcomes = &o, .n = 1};
    struct redact *redact = redact_new();
    struct verdict *v = verdict_new(&in);
    auto_json cJSON *json = NULL;
    auto_free char *printed = NULL;
    auto_free char *line = NULL;
    auto_free char *text = NULL;

    (void)state;
    redact_learn(redact, "hunter2222");
    text = failure(&in, redact);
    json = report_json(v, &in, redact);
    printed = cJSON_Print(json);
    line = report_summary(v, &in, redact);
    assert_null(strstr(text, "hunter2222"));
    assert_null(strstr(printed, "hunter2222"));
    assert_null(strstr(line, "hunter2222"));
    assert_non_null(strstr(text, "ValueError: no " REDACT_MASK " here"));
    verdict_free(v);
    redact_free(redact);
}

static void test_report_json_has_the_documented_members(void **state)
{
    struct outcome o[] = {told(ended(0, -SIGTERM, 950, NULL), 910, 0),
                          ended(1, 3, 900, TB("ValueError: bad shard")), ended(2, 0, 800, NULL)};
    struct verdict_input in = {.outcomes = o, .n = 3, .host = "algo-1"};
    struct verdict *v = verdict_new(&in);
    auto_json cJSON *json = report_json(v, &in, NULL);
    const cJSON *follower = cJSON_GetArrayItem(json_get(json, "followers"), 0);
    long n = 0;

    (void)state;
    assert_string_equal(json_string(json_get(json, "blame")), "user");
    assert_string_equal(json_string(json_get(json, "kind")), "failed");
    assert_string_equal(json_string(json_get(json, "host")), "algo-1");
    assert_string_equal(json_string(json_get(json, "cause")), "exit code 3");
    assert_string_equal(json_string(json_get(json, "message")), "ValueError: bad shard");
    assert_true(json_integer(json_get(json, "rank"), 0, 9, &n) && n == 1);
    assert_true(json_integer(json_get(json, "exit"), 0, 9, &n) && n == 3);
    assert_true(json_integer(json_get(json, "status"), 0, 9, &n) && n == 3);
    assert_true(cJSON_IsNull(json_get(json, "signal")));
    assert_int_equal(cJSON_GetArraySize(json_get(json, "last_lines")), 4);
    assert_int_equal(cJSON_GetArraySize(json_get(json, "followers")), 1);
    assert_true(json_integer(json_get(follower, "signal"), 0, 99, &n) && n == SIGTERM);
    assert_true(cJSON_IsNull(json_get(follower, "exit")));
    verdict_free(v);
}

static void test_report_summary_in_a_few_lines(void **state)
{
    struct outcome o[] = {told(ended(0, -SIGTERM, 12350, NULL), 12300, 0), ended(1, 0, 11000, NULL),
                          told(ended(2, 1, 12390, RESET), 12300, 0),
                          ended(3, 3, 12300, TB("ValueError: bad shard"))};
    struct verdict_input in = {.outcomes = o, .n = 4, .host = "algo-1"};
    auto_free char *failed = summary(&in);
    auto_free char *well = NULL;
    auto_free char *stopped = NULL;

    (void)state;
    assert_string_equal(failed, "job failed: exit code 3, rank 3 on algo-1: ValueError: bad shard\n"
                                "followers: 0, 2\n"
                                "4 ranks, 12.3 s, exit status 3\n");
    in.outcomes = &o[1];
    in.n = 1;
    well = summary(&in);
    assert_string_equal(well, "job ended well: 1 rank, 10.9 s\n");
    in.stopped = true;
    in.outcomes = o;
    in.n = 4;
    o[2].killed_ms = 12380;
    stopped = summary(&in);
    assert_string_equal(stopped, "job stopped on request; rank 2 on algo-1 had to be killed; "
                                 "4 ranks, 12.3 s\n");
}

static void test_report_counts_the_ranks_of_a_program(void **state)
{
    struct outcome o = ended(0, 1, 12400, NULL);
    struct verdict_input in = {.outcomes = &o, .n = 1, .host = "algo-1"};
    struct verdict *v;
    auto_json cJSON *json = NULL;
    auto_free char *text = NULL;

    (void)state;
    o.program = "torchrun";
    o.ranks = 8;
    text = summary(&in);
    assert_string_equal(text, "job failed: exit code 1, torchrun on algo-1\n"
                              "8 ranks, 12.3 s, exit status 1\n");
    v = verdict_new(&in);
    json = report_json(v, &in, NULL);
    assert_true(cJSON_IsNull(json_get(json, "rank")));
    verdict_free(v);
}

static void test_report_of_many_hosts_counts_them(void **state)
{
    struct outcome o[] = {told(ended(0, -SIGTERM, 12350, NULL), 12300, 0),
                          ended(1, 3, 12300, TB("ValueError: bad shard")),
                          told(ended(2, -SIGTERM, 12360, NULL), 12300, 0),
                          told(ended(3, -SIGTERM, 12360, NULL), 12300, 0),
                          told(ended(4, -SIGTERM, 12360, NULL), 12300, 0)};
    struct verdict_input in = {.outcomes = o, .n = 5, .host = "algo-1"};
    auto_free char *text = NULL;

    (void)state;
    for (size_t i = 2; i < LENGTH(o); i++)
        o[i].host = "algo-2";
    text = summary(&in);
    assert_string_equal(text, "job failed: exit code 3, rank 1 on algo-1: ValueError: bad shard\n"
                              "followers: 0, 2-4\n"
                              "5 ranks on 2 hosts, 12.3 s, exit status 3\n");
}

static void test_report_of_a_lost_host_counts_it_as_no_rank(void **state)
{
    struct outcome o[] = {
        told(ended(0, -SIGTERM, 12350, NULL), 12300, 0),
        {.host = "algo-2",
                                                     .leader = true,
                                                     .lost = (char *)(uintptr_t) "connection closed",
                                                     .end_ms = 12200},
    };
    struct verdict_input in = {.outcomes = o, .n = 2, .host = "algo-1"};
    struct verdict *v = verdict_new(&in);
    auto_free char *text = failure(&in, NULL);
    auto_free char *line = summary(&in);
    auto_json cJSON *json = report_json(v, &in, NULL);

    (void)state;
    assert_memory_equal(text, "host: lost: connection closed, leader algo-2\n", 45);
    assert_string_equal(line, "job failed: lost: connection closed, leader algo-2\n"
                              "followers: 0\n"
                              "1 rank, 12.2 s, exit status 69\n");
    assert_true(cJSON_IsNull(json_get(json, "rank")));
    assert_string_equal(json_string(json_get(json, "host")), "algo-2");
    verdict_free(v);
}

/* It goes to every host as one message, whatever the ranks said. */
static void test_report_of_a_crowd_fits_into_one_message(void **state)
{
    enum { CROWD = 8000 };
    struct outcome *o = mem_zero(CROWD * sizeof(*o));
    struct verdict_input in = {.outcomes = o, .n = CROWD, .host = "algo-1"};
    struct wire_message m = {.kind = WIRE_VERDICT};
    auto_buf struct buf err = {0};
    auto_buf struct buf frame = {0};
    struct verdict *v;
    long more = 0;

    (void)state;
    while (err.len < 30000)
        buf_str(&err, "\x01\x02\x03 \x04");
    for (unsigned i = 0; i < CROWD; i++) {
        o[i] = ended(i, 1, 900 + i, i < 300 ? buf_text(&err) : RESET);
        o[i].killed_ms = 900 + i;
    }
    v = verdict_new(&in);
    m.text = report_failure(v, &in, NULL);
    m.summary = report_summary(v, &in, NULL);
    m.body = report_json(v, &in, NULL);
    assert_int_equal(wire_encode(&m, &frame), 0);
    assert_true(json_integer(json_get(m.body, "followers_more"), 0, CROWD, &more));
    assert_int_equal(more + cJSON_GetArraySize(json_get(m.body, "followers")), CROWD - 1);
    verdict_free(v);
    wire_message_done(&m);
    free(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_report_short_failure_is_whole),
        cmocka_unit_test(test_report_best_things_come_within_the_first_kilobyte),
        cmocka_unit_test(test_report_cuts_one_huge_line_at_character_borders),
        cmocka_unit_test(test_report_many_followers_are_counted),
        cmocka_unit_test(test_report_trouble_is_one_sentence),
        cmocka_unit_test(test_report_a_failed_step_carries_its_last_lines),
        cmocka_unit_test(test_report_holds_no_secrets),
        cmocka_unit_test(test_report_json_has_the_documented_members),
        cmocka_unit_test(test_report_summary_in_a_few_lines),
        cmocka_unit_test(test_report_counts_the_ranks_of_a_program),
        cmocka_unit_test(test_report_of_many_hosts_counts_them),
        cmocka_unit_test(test_report_of_a_lost_host_counts_it_as_no_rank),
        cmocka_unit_test(test_report_of_a_crowd_fits_into_one_message),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
