/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "core/evidence.h"
#include "core/redact.h"
#include "core/testimony.h"
#include "core/verdict.h"
#include "core/wire.h"
#include "outcomes.h"

#define BAD TB("ValueError: bad shard")

static const struct memory_facts plenty = {.readable = true, .limit = 1 << 30};

/* What the leader reads of it, with a clock that is `ahead_ms` of ours. */
static struct testimony *told_of(const struct outcome *o, size_t n, int64_t ahead_ms)
{
    auto_json cJSON *body = testimony_json(o, n, &plenty, NULL);
    struct err err = ERR_INIT;
    struct testimony *t = testimony_read(body, "algo-2", ahead_ms, &err);

    assert_string_equal(err.text, "");
    return t;
}

static void test_testimony_says_what_the_evidence_says(void **state)
{
    struct outcome o[] = {ended(2, 1, 5000, BAD), told(ended(3, -15, 5100, "step 9\n"), 5050, 7),
                          ended(4, 0, 4000, NULL)};
    struct testimony *t = told_of(o, 3, 0);

    (void)state;
    assert_int_equal(t->n, 3);
    for (size_t i = 0; i < 3; i++) {
        const struct outcome *got = &t->outcomes[i];
        struct evidence e = evidence_of(&o[i]), f = evidence_of(got);
        auto_free char *message = evidence_message(&o[i]);
        auto_free char *again = evidence_message(got);

        assert_int_equal(got->rank, o[i].rank);
        assert_string_equal(got->host, "algo-2");
        assert_int_equal(outcome_status(got), outcome_status(&o[i]));
        assert_int_equal(got->end_ms, o[i].end_ms);
        if (outcome_status(got) == 0)
            continue;
        assert_int_equal(e.weight, f.weight);
        assert_int_equal(e.when, f.when);
        assert_int_equal(evidence_was_told(got), evidence_was_told(&o[i]));
        assert_int_equal(evidence_is_our_signal(got), evidence_is_our_signal(&o[i]));
        assert_string_equal(message, again);
    }
    assert_true(t->memory.readable);
    assert_ptr_equal(t->outcomes[0].memory, &t->memory);
    testimony_free(t);
}

static void test_testimony_times_are_moved_to_the_leaders_clock(void **state)
{
    struct outcome o = ended(0, 1, 5000, BAD);
    struct testimony *ahead = told_of(&o, 1, 4950), *behind = told_of(&o, 1, -1000),
                     *far = told_of(&o, 1, 1000000);

    (void)state;
    assert_int_equal(ahead->outcomes[0].end_ms, 50);
    assert_int_equal(ahead->outcomes[0].told_ms, 0);
    assert_int_equal(behind->outcomes[0].end_ms, 6000);
    assert_int_equal(far->outcomes[0].end_ms, 1);
    testimony_free(ahead);
    testimony_free(behind);
    testimony_free(far);
}

static void test_testimony_only_the_first_cause_brings_its_detail(void **state)
{
    struct outcome o[] = {ended(0, 1, 5000, RESET), ended(1, 1, 5010, BAD)};
    struct testimony *t = told_of(o, 2, 0);
    auto_free char *none = evidence_detail(&t->outcomes[0]);
    auto_free char *all = evidence_detail(&t->outcomes[1]);

    (void)state;
    assert_string_equal(none, "");
    assert_non_null(strstr(all, "Traceback"));
    testimony_free(t);
}

static void test_testimony_of_a_rank_that_could_not_start(void **state)
{
    struct outcome o = {.rank = 1,
                        .host = "algo-2",
                        .spawn_error = (char *)(uintptr_t) "exec of ./x: Permission denied",
                        .spawn_blame = BLAME_USER};
    struct testimony *t = told_of(&o, 1, 0);
    auto_free char *text = outcome_text(&t->outcomes[0]);
    auto_free char *message = evidence_message(&t->outcomes[0]);

    (void)state;
    assert_string_equal(text, "could not be started");
    assert_string_equal(message, "exec of ./x: Permission denied");
    assert_int_equal(outcome_status(&t->outcomes[0]), 127);
    testimony_free(t);
}

static void test_testimony_shows_no_secret(void **state)
{
    struct redact *redact = redact_new();
    struct outcome o = ended(0, 1, 5000, TB("ValueError: token tok-222 refused"));
    auto_json cJSON *body = NULL;
    auto_buf struct buf text = {0};

    (void)state;
    redact_learn(redact, "tok-222");
    body = testimony_json(&o, 1, &plenty, redact);
    json_write(&text, body);
    assert_null(strstr(buf_text(&text), "tok-222"));
    redact_free(redact);
}

/* It must not be cut before it is known: what is left of it would be shown. */
static void test_testimony_shows_no_part_of_a_secret(void **state)
{
    static const char secret[] = "tok-222-333-444";
    struct redact *redact = redact_new();

    (void)state;
    redact_learn(redact, secret);
    for (size_t cut = 0; cut < sizeof(secret); cut++) {
        auto_buf struct buf err = {0};
        auto_buf struct buf text = {0};
        auto_json cJSON *body = NULL;
        struct outcome o;

        buf_printf(&err, "%*s\n%s\n", 3000, "", secret);
        while (err.len < 3000 + TESTIMONY_DETAIL_MAX + cut)
            buf_char(&err, 'x');
        buf_char(&err, '\n');
        o = ended(0, 1, 5000, buf_text(&err));
        body = testimony_json(&o, 1, &plenty, redact);
        json_write(&text, body);
        assert_null(strstr(buf_text(&text), "444"));
    }
    redact_free(redact);
}

static void test_testimony_of_whom_ended_well_says_if_it_was_told(void **state)
{
    struct outcome o[] = {told(ended(2, 0, 5000, NULL), 4000, 0), ended(3, 0, 6000, NULL)};
    struct testimony *t = told_of(o, 2, 0);
    struct verdict *v = verdict_new(&(struct verdict_input){
        .outcomes = t->outcomes, .n = t->n, .host = "algo-1", .early_exit_final = true});

    (void)state;
    assert_true(evidence_was_told(&t->outcomes[0]));
    assert_false(evidence_was_told(&t->outcomes[1]));
    assert_string_equal(v->where, "rank 3 on algo-2");
    verdict_free(v);
    testimony_free(t);
}

static void test_testimony_of_a_crowd_fits_into_one_message(void **state)
{
    struct outcome *o = mem_zero(4096 * sizeof(*o));
    struct wire_message m = {.kind = WIRE_REPORT};
    auto_buf struct buf frame = {0};

    (void)state;
    for (unsigned i = 0; i < 4096; i++)
        o[i] = told(ended(i, 1, 1000000000 + i, RESET), 1000000000, sizeof(RESET) - 1);
    m.body = testimony_json(o, 4096, &plenty, NULL);
    assert_int_equal(wire_encode(&m, &frame), 0);
    wire_message_done(&m);
    free(o);
}

/* Names, messages and numbers as long as they get, and bytes that JSON makes six of. */
static void test_testimony_of_a_crowd_is_bounded_whatever_it_says(void **state)
{
    static const char *const fills[] = {"\x01", "\xff", "\xe2\x82\xac", "\xf0\x9f\x98\x80"};
    struct outcome *o = mem_zero(4096 * sizeof(*o));

    (void)state;
    for (size_t k = 0; k < LENGTH(fills); k++) {
        auto_buf struct buf err = {0};
        auto_buf struct buf frame = {0};
        struct wire_message m = {.kind = WIRE_REPORT};
        struct testimony *t;

        buf_str(&err, "E: ");
        while (err.len < 2000)
            buf_str(&err, fills[k]);
        for (unsigned i = 0; i < 4096; i++) {
            o[i] = told(ended(i, -9, 10000000000 + i, i % 128 ? NULL : buf_text(&err)), 10000000000,
                        err.len);
            o[i].killed_ms = o[i].start_ms = 10000000000;
            o[i].pid = 4194304;
        }
        m.body = testimony_json(o, 4096, &plenty, NULL);
        assert_int_equal(wire_encode(&m, &frame), 0);
        t = testimony_read(m.body, "algo-2", 0, NULL);
        assert_non_null(t);
        assert_int_equal(t->n, 4096);
        testimony_free(t);
        wire_message_done(&m);
    }
    free(o);
}

/* What its reader would refuse must not be written: the host would count as lost. */
static void test_testimony_reads_whatever_it_writes(void **state)
{
    auto_buf struct buf name = {0};
    struct memory_facts odd = {.readable = true, .oom_kills = -1, .limit = -1};
    struct outcome o = ended(0, 1, 5000, "bye");
    auto_json cJSON *body = NULL;
    struct testimony *t;

    (void)state;
    while (name.len < 1000)
        buf_str(&name, "\xe2\x82\xac");
    o.program = buf_text(&name);
    body = testimony_json(&o, 1, &odd, NULL);
    t = testimony_read(body, "algo-2", 0, NULL);
    assert_non_null(t);
    assert_true(strlen(t->outcomes[0].program) > 200);
    assert_int_equal(t->memory.oom_kills, 0);
    testimony_free(t);
}

static void test_testimony_has_one_line_where_one_is_due(void **state)
{
    static const char text[] = "{\"ended\": [{\"started\": 1, \"exit\": 1, \"weight\": 0, "
                               "\"message\": \"a\\nb\", \"step\": \"x\\ny\"}]}";
    auto_json cJSON *body = json_parse(text, sizeof(text) - 1, NULL);
    struct testimony *t = testimony_read(body, "algo-2", INT64_MIN, NULL);

    (void)state;
    assert_non_null(t);
    assert_string_equal(t->outcomes[0].witness->message, "a b");
    assert_string_equal(t->outcomes[0].step, "x y");
    testimony_free(t);
}

static void test_testimony_that_is_not_well_formed_is_refused(void **state)
{
    static const char *const bodies[] = {
        "{}",
        "{\"ended\": {}}",
        "{\"ended\": [{\"rank\": -1}]}",
        "{\"ended\": [{\"rank\": \"1\"}]}",
        "{\"ended\": [{\"exit\": 256}]}",
        "{\"ended\": [{\"signal\": 1000}]}",
        "{\"ended\": [{\"weight\": 9}]}",
        "{\"ended\": [{\"step\": 9}]}",
        "{\"ended\": [{\"started\": 1, \"exit\": 1}]}", /* nothing said of why */
        "{\"ended\": [{\"message\": {}}]}",
        "{\"ended\": [{\"detail\": 1}]}",
        "{\"ended\": [{\"no_start\": 6}]}",
        "{\"ended\": [1]}",
        "{\"ended\": [], \"memory\": {\"why\": 5}}",
        "[]",
        "3",
        "{\"ended\": [{\"end\": 99999999999999999999}]}",
        "{\"ended\": [], \"memory\": {\"limit\": -5}}",
        "{\"ended\": [{}, {\"when\": []}]}",
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(bodies); i++) {
        auto_json cJSON *body = json_parse(bodies[i], strlen(bodies[i]), NULL);
        struct err err = ERR_INIT;

        assert_non_null(body);
        assert_null(testimony_read(body, "algo-2", 0, &err));
        assert_string_equal(err.text, "the report of algo-2 is not as it should be");
    }
}

static void test_testimony_of_too_many_is_refused(void **state)
{
    auto_buf struct buf text = {0};
    auto_json cJSON *body = NULL;

    (void)state;
    buf_str(&text, "{\"ended\": [{}");
    for (unsigned i = 0; i < 4096 + 64; i++)
        buf_str(&text, ",{}");
    buf_str(&text, "]}");
    body = json_parse(text.data, text.len, NULL);
    assert_non_null(body);
    assert_null(testimony_read(body, "algo-2", 0, NULL));
}

/* ---- one verdict over all ----------------------------------------------------------------------
 */

static struct verdict *judge(const struct outcome *o, size_t n)
{
    return verdict_new(&(struct verdict_input){
        .outcomes = o, .n = n, .host = "algo-1", .memory = {.readable = true}});
}

static void test_verdict_over_hosts_the_cause_is_first_wherever_it_was(void **state)
{
    struct outcome there = ended(3, 1, 7000, BAD);
    struct testimony *t = told_of(&there, 1, 2000);
    struct outcome all[] = {told(ended(0, 1, 5300, RESET), 5100, sizeof(RESET) - 1),
                            told(ended(1, -15, 5200, NULL), 5100, 0), t->outcomes[0]};
    struct verdict *v = judge(all, 3);

    (void)state;
    assert_string_equal(v->where, "rank 3 on algo-2");
    assert_string_equal(v->message, "ValueError: bad shard");
    assert_non_null(strstr(v->detail, "Traceback"));
    assert_int_equal(v->status, 1);
    verdict_free(v);
    testimony_free(t);
}

static void test_verdict_memory_of_the_host_that_failed_counts(void **state)
{
    static const struct memory_facts little = {.readable = true, .oom_kills = 1, .limit = 64 << 20};
    struct outcome there = ended(3, -9, 5000, NULL);
    auto_json cJSON *body = testimony_json(&there, 1, &little, NULL);
    struct testimony *t = testimony_read(body, "algo-2", 0, NULL);
    struct verdict *v = judge(t->outcomes, t->n);

    (void)state;
    assert_string_equal(v->what, "killed: out of memory, limit 64.0 MiB");
    verdict_free(v);
    testimony_free(t);
}

static void test_verdict_a_lost_host_goes_before_what_its_loss_brought_about(void **state)
{
    struct outcome lost = {.host = "algo-2",
                           .started = true,
                           .ended = true,
                           .exit_code = -1,
                           .end_ms = 5000,
                           .lost = (char *)(uintptr_t) "connection closed"};
    struct outcome by[] = {ended(0, 1, 4990, RESET), lost};
    struct outcome before[] = {ended(0, 1, 4000, BAD), lost};
    struct verdict *v = judge(by, 2), *w;
    auto_free char *where = NULL;

    (void)state;
    assert_int_equal(v->blame, BLAME_HOST);
    assert_int_equal(v->status, 69);
    assert_string_equal(v->what, "lost: connection closed");
    assert_string_equal(v->where, "host algo-2");
    assert_true(verdict_is_follower(v, &by[0]));
    verdict_free(v);
    w = judge(before, 2);
    assert_string_equal(w->where, "rank 0 on algo-1");
    verdict_free(w);
    lost.leader = true;
    where = verdict_where(&lost);
    assert_string_equal(where, "leader algo-2");
}

static void test_verdict_of_a_lost_host_has_nothing_of_ours_in_it(void **state)
{
    struct outcome o[] = {
        told(ended(0, -15, 5300, NULL), 5100, 0),
        {.host = "algo-2", .end_ms = 5000, .lost = (char *)(uintptr_t) "no sign of life for 10 s"}
    };
    struct verdict *v = verdict_new(&(struct verdict_input){
        .outcomes = o, .n = 2, .host = "algo-1", .memory = {.readable = true, .oom_kills = 1}
    });

    (void)state;
    assert_ptr_equal(v->first, &o[1]);
    assert_string_equal(v->what, "lost: no sign of life for 10 s");
    assert_string_equal(v->message, "");
    assert_null(v->help); /* the kernel's count is of this host */
    verdict_free(v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_testimony_says_what_the_evidence_says),
        cmocka_unit_test(test_testimony_times_are_moved_to_the_leaders_clock),
        cmocka_unit_test(test_testimony_only_the_first_cause_brings_its_detail),
        cmocka_unit_test(test_testimony_of_a_rank_that_could_not_start),
        cmocka_unit_test(test_testimony_shows_no_secret),
        cmocka_unit_test(test_testimony_shows_no_part_of_a_secret),
        cmocka_unit_test(test_testimony_of_whom_ended_well_says_if_it_was_told),
        cmocka_unit_test(test_testimony_of_a_crowd_fits_into_one_message),
        cmocka_unit_test(test_testimony_of_a_crowd_is_bounded_whatever_it_says),
        cmocka_unit_test(test_testimony_reads_whatever_it_writes),
        cmocka_unit_test(test_testimony_has_one_line_where_one_is_due),
        cmocka_unit_test(test_testimony_that_is_not_well_formed_is_refused),
        cmocka_unit_test(test_testimony_of_too_many_is_refused),
        cmocka_unit_test(test_verdict_over_hosts_the_cause_is_first_wherever_it_was),
        cmocka_unit_test(test_verdict_memory_of_the_host_that_failed_counts),
        cmocka_unit_test(test_verdict_a_lost_host_goes_before_what_its_loss_brought_about),
        cmocka_unit_test(test_verdict_of_a_lost_host_has_nothing_of_ours_in_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
