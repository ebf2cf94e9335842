/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "core/rank_fsm.h"

/* Every state with every event: where to, and what to do. */
static const char golden[] =
    "planned:  spawned > running; nospawn > done tell; stop > done tell; exit -; eof -; grace -;\n"
    "running:  spawned -; nospawn -; stop > stopping term grace; exit > draining drain; eof -; "
    "grace -;\n"
    "stopping: spawned -; nospawn -; stop -; exit > draining drain; eof -; "
    "grace > killed kill grace;\n"
    "killed:   spawned -; nospawn -; stop -; exit > draining drain; eof -; grace > done tell;\n"
    "draining: spawned -; nospawn -; stop -; exit -; eof > done tell; grace > done cut tell;\n"
    "done:     spawned -; nospawn -; stop -; exit -; eof -; grace -;\n";

static void print_edge(struct buf *out, enum rank_state from, enum rank_event event)
{
    static const char *const orders[] = {"term", "kill", "grace", "drain", "cut", "tell"};
    enum rank_state state = from;
    unsigned what = rank_step(&state, event);

    buf_printf(out, " %s ", rank_event_name(event));
    if (state == from && !what)
        buf_char(out, '-');
    else
        buf_printf(out, "> %s", rank_state_name(state));
    for (unsigned i = 0; i < LENGTH(orders); i++)
        if (what & 1U << i)
            buf_printf(out, " %s", orders[i]);
    buf_char(out, ';');
    assert_int_equal(what >> LENGTH(orders), 0);
}

static void test_rank_step_does_what_the_table_says(void **state)
{
    auto_buf struct buf out = {0};

    (void)state;
    for (int from = 0; from < RANK_STATES; from++) {
        size_t begin = out.len;

        buf_printf(&out, "%s:", rank_state_name((enum rank_state)from));
        while (out.len - begin < sizeof("stopping"))
            buf_char(&out, ' ');
        for (int event = 0; event < REV_EVENTS; event++)
            print_edge(&out, (enum rank_state)from, (enum rank_event)event);
        buf_char(&out, '\n');
    }
    assert_string_equal(buf_text(&out), golden);
}

static void test_rank_step_never_goes_back(void **state)
{
    (void)state;
    for (int from = 0; from < RANK_STATES; from++)
        for (int event = 0; event < REV_EVENTS; event++) {
            enum rank_state to = (enum rank_state)from;

            (void)rank_step(&to, (enum rank_event)event);
            assert_in_range(to, from, RANK_DONE);
        }
}

static void test_rank_step_tells_the_job_exactly_when_it_is_done(void **state)
{
    (void)state;
    for (int from = 0; from < RANK_STATES; from++)
        for (int event = 0; event < REV_EVENTS; event++) {
            enum rank_state to = (enum rank_state)from;
            unsigned what = rank_step(&to, (enum rank_event)event);

            assert_int_equal(!!(what & DO_TELL), from != RANK_DONE && to == RANK_DONE);
        }
}

static void test_rank_step_a_stop_and_four_deadlines_end_it_whatever_it_does(void **state)
{
    (void)state;
    for (int from = 0; from < RANK_STATES; from++) {
        enum rank_state at = (enum rank_state)from;

        (void)rank_step(&at, REV_STOP);
        for (int i = 0; i < 4; i++)
            (void)rank_step(&at, REV_GRACE);
        assert_int_equal(at, RANK_DONE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rank_step_does_what_the_table_says),
        cmocka_unit_test(test_rank_step_never_goes_back),
        cmocka_unit_test(test_rank_step_tells_the_job_exactly_when_it_is_done),
        cmocka_unit_test(test_rank_step_a_stop_and_four_deadlines_end_it_whatever_it_does),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
