/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/roster.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "core/testimony.h"

#include <stdlib.h>
#include <string.h>

static struct roster r;

static int set_up(void **state)
{
    (void)state;
    roster_add(&r, "algo-2");
    roster_add(&r, "algo-10");
    roster_add(&r, "algo-3");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    roster_done(&r);
    return 0;
}

static void step_all(enum roster_event event)
{
    for (size_t i = 0; i < r.n; i++)
        assert_true(roster_step(&r.hosts[i], event));
}

static void assert_text(unsigned states, bool reasons, size_t most, const char *text)
{
    auto_free char *got = roster_text(&r, states, reasons, most);

    assert_string_equal(got, text);
}

static void test_hosts_keep_their_order_and_are_there_once(void **state)
{
    (void)state;
    roster_add(&r, "algo-10");
    assert_int_equal(r.n, 3);
    assert_string_equal(r.hosts[1].name, "algo-10");
    assert_ptr_equal(roster_find(&r, "algo-3"), &r.hosts[2]);
    assert_null(roster_find(&r, "algo-1"));
}

static void test_host_comes_gets_ready_and_reports(void **state)
{
    (void)state;
    assert_int_equal(roster_count(&r, ROSTER_BIT(ROSTER_ABSENT)), 3);
    step_all(ROSTER_COMES);
    assert_int_equal(roster_count(&r, ROSTER_BIT(ROSTER_ABSENT)), 0);
    assert_int_equal(roster_count(&r, ROSTER_AT_WORK), 3);
    step_all(ROSTER_GETS_READY);
    assert_int_equal(roster_count(&r, ROSTER_BIT(ROSTER_READY)), 3);
    step_all(ROSTER_REPORTS);
    assert_int_equal(roster_count(&r, ROSTER_AT_WORK), 0);
    assert_int_equal(roster_count(&r, ROSTER_ALIVE), 3);
}

/* What goes where; all other pairs change nothing. */
static void test_states_only_go_forward(void **state)
{
    static const enum roster_state after[ROSTER_STATES][4] = {
        [ROSTER_ABSENT] = {ROSTER_HERE,     ROSTER_ABSENT,   ROSTER_ABSENT,   ROSTER_ABSENT  },
        [ROSTER_HERE] = {ROSTER_HERE,     ROSTER_READY,    ROSTER_REPORTED, ROSTER_LOST    },
        [ROSTER_READY] = {ROSTER_READY,    ROSTER_READY,    ROSTER_REPORTED, ROSTER_LOST    },
        [ROSTER_REPORTED] = {ROSTER_REPORTED, ROSTER_REPORTED, ROSTER_REPORTED, ROSTER_REPORTED},
        [ROSTER_LOST] = {ROSTER_LOST,     ROSTER_LOST,     ROSTER_LOST,     ROSTER_LOST    },
    };

    (void)state;
    for (int from = 0; from < ROSTER_STATES; from++) {
        for (int event = 0; event < 4; event++) {
            struct roster_host host = {.state = (enum roster_state)from};
            bool moved = roster_step(&host, (enum roster_event)event);

            assert_int_equal(host.state, after[from][event]);
            assert_int_equal(moved, (int)host.state != from);
        }
    }
}

static void test_those_who_are_missing_are_named_with_reasons(void **state)
{
    (void)state;
    (void)roster_step(&r.hosts[0], ROSTER_COMES);
    roster_reason(&r.hosts[1], "its name is not found", false);
    assert_text(ROSTER_BIT(ROSTER_ABSENT), true, 8,
                "algo-10 (its name is not found), algo-3 (has not come)");
    assert_text(ROSTER_BIT(ROSTER_ABSENT), false, 1, "algo-10 and 1 more");
    assert_text(ROSTER_BIT(ROSTER_LOST), true, 8, "");
}

static void test_firm_reason_stands(void **state)
{
    (void)state;
    roster_reason(&r.hosts[1], "connection refused", false);
    roster_reason(&r.hosts[1], "wrong key", true);
    roster_reason(&r.hosts[1], "is up", false);
    assert_string_equal(r.hosts[1].reason, "wrong key");
    roster_reason(&r.hosts[1], "wrong job", true);
    assert_string_equal(r.hosts[1].reason, "wrong job");
}

static void test_host_is_silent_after_the_limit(void **state)
{
    struct roster_host *host = &r.hosts[0];

    (void)state;
    roster_heard(host, 5000);
    roster_heard(host, 4000); /* an older sign changes nothing */
    assert_false(roster_is_silent(host, 4000, 1000));
    assert_false(roster_is_silent(host, 15000, 10000));
    assert_true(roster_is_silent(host, 15001, 10000));
}

static void test_own_sleep_is_nobodys_silence(void **state)
{
    (void)state;
    roster_heard(&r.hosts[0], 5000);
    roster_heard(&r.hosts[1], 64900);
    roster_slept(&r, 59000, 65000);
    assert_false(roster_is_silent(&r.hosts[0], 65000, 10000));
    assert_int_equal(r.hosts[0].heard_ms, 64000);
    assert_int_equal(r.hosts[1].heard_ms, 65000); /* never in the future */
    assert_int_equal(r.hosts[2].heard_ms, 0);     /* nor where there was none */
}

static void test_shortest_round_trip_tells_the_clocks_apart(void **state)
{
    struct roster_host *host = &r.hosts[0];

    (void)state;
    roster_pong(host, 1000, 501050, 1100);
    assert_int_equal(host->ahead_ms, 500000);
    roster_pong(host, 2000, 502901, 2002);
    assert_int_equal(host->ahead_ms, 500900);
    roster_pong(host, 3000, 600000, 3050); /* a slower one */
    assert_int_equal(host->ahead_ms, 500900);
}

static void test_absurd_answers_tell_nothing(void **state)
{
    struct roster_host *host = &r.hosts[0];

    (void)state;
    roster_pong(host, 5000, 100, 4000); /* to a ping of the future */
    roster_pong(host, -1, 100, 4000);
    roster_pong(host, 0, INT64_MIN, 4000);
    assert_false(host->measured);
    roster_pong(host, 0, INT64_MAX, 0);
    assert_true(host->measured);
}

static struct testimony *made_testimony(size_t n)
{
    struct testimony *t = mem_zero(sizeof(*t));

    t->host = mem_dup("algo-2");
    t->outcomes = mem_zero(n * sizeof(*t->outcomes));
    t->n = n;
    for (size_t i = 0; i < n; i++)
        t->outcomes[i] = (struct outcome){.rank = (unsigned)i + 4, .host = t->host};
    return t;
}

static void test_outcomes_are_those_told_and_the_lost_hosts(void **state)
{
    auto_free struct outcome *all = NULL;
    size_t n;

    (void)state;
    step_all(ROSTER_COMES);
    r.hosts[0].testimony = made_testimony(2);
    (void)roster_step(&r.hosts[0], ROSTER_REPORTS);
    roster_heard(&r.hosts[1], 1234);
    (void)roster_step(&r.hosts[1], ROSTER_GETS_LOST);
    roster_reason(&r.hosts[1], "connection closed", true);
    all = roster_outcomes(&r, false, &n);
    assert_int_equal(n, 3);
    assert_int_equal(all[1].rank, 5);
    assert_null(all[1].lost);
    assert_string_equal(all[2].host, "algo-10");
    assert_string_equal(all[2].lost, "connection closed");
    assert_int_equal(all[2].end_ms, 1234);
    assert_true(all[2].ended);
    assert_false(all[2].leader);
}

static void test_lost_leader_is_named_as_one(void **state)
{
    auto_free struct outcome *all = NULL;
    auto_free struct outcome *none = NULL;
    size_t n;

    (void)state;
    none = roster_outcomes(&r, true, &n);
    assert_int_equal(n, 0);
    assert_non_null(none);
    step_all(ROSTER_COMES);
    (void)roster_step(&r.hosts[0], ROSTER_GETS_LOST);
    all = roster_outcomes(&r, true, &n);
    assert_int_equal(n, 1);
    assert_true(all[0].leader);
}

#define roster_test(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        roster_test(test_hosts_keep_their_order_and_are_there_once),
        roster_test(test_host_comes_gets_ready_and_reports),
        roster_test(test_states_only_go_forward),
        roster_test(test_those_who_are_missing_are_named_with_reasons),
        roster_test(test_firm_reason_stands),
        roster_test(test_host_is_silent_after_the_limit),
        roster_test(test_own_sleep_is_nobodys_silence),
        roster_test(test_shortest_round_trip_tells_the_clocks_apart),
        roster_test(test_absurd_answers_tell_nothing),
        roster_test(test_outcomes_are_those_told_and_the_lost_hosts),
        roster_test(test_lost_leader_is_named_as_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
