/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "core/job_fsm.h"

/* Every state with every event: where to, and what to do. */
static const char golden[] =
    "preparing: refused > reporting report; prepared > gathering gather; started -; "
    "failed > stopping term; stop > stopping term; grace -; exited -; clear -; judged -; "
    "written -;\n"
    "gathering: refused -; prepared -; started > running start; failed > stopping term; "
    "stop > stopping term; grace -; exited -; clear -; judged -; written -;\n"
    "running:   refused -; prepared -; started -; failed > stopping term; stop > stopping term; "
    "grace -; exited > clearing clear; clear -; judged -; written -;\n"
    "stopping:  refused -; prepared -; started -; failed -; stop -; grace > stopping kill; "
    "exited > clearing clear; clear -; judged -; written -;\n"
    "clearing:  refused -; prepared -; started -; failed -; stop -; grace > agreeing cut tell; "
    "exited -; clear > agreeing tell; judged -; written -;\n"
    "agreeing:  refused -; prepared -; started -; failed -; stop -; grace > reporting report; "
    "exited -; clear -; judged > reporting report; written -;\n"
    "reporting: refused -; prepared -; started -; failed -; stop -; grace -; exited -; clear -; "
    "judged -; written > ended end;\n"
    "ended:     refused -; prepared -; started -; failed -; stop -; grace -; exited -; clear -; "
    "judged -; written -;\n";

static void print_edge(struct buf *out, enum job_state from, enum job_event event)
{
    static const char *const orders[] = {"gather", "start", "term",   "kill", "clear",
                                         "cut",    "tell",  "report", "end"};
    enum job_state state = from;
    unsigned what = job_step(&state, event);

    buf_printf(out, " %s ", job_event_name(event));
    if (state == from && !what)
        buf_char(out, '-');
    else
        buf_printf(out, "> %s", job_state_name(state));
    for (unsigned i = 0; i < LENGTH(orders); i++)
        if (what & 1U << i)
            buf_printf(out, " %s", orders[i]);
    buf_char(out, ';');
    assert_int_equal(what >> LENGTH(orders), 0);
}

static void test_job_step_does_what_the_table_says(void **state)
{
    auto_buf struct buf out = {0};

    (void)state;
    for (int from = 0; from < JOB_STATES; from++) {
        size_t begin = out.len;

        buf_printf(&out, "%s:", job_state_name((enum job_state)from));
        while (out.len - begin < sizeof("preparing"))
            buf_char(&out, ' ');
        for (int event = 0; event < JEV_COUNT; event++)
            print_edge(&out, (enum job_state)from, (enum job_event)event);
        buf_char(&out, '\n');
    }
    assert_string_equal(buf_text(&out), golden);
}

static void test_job_step_never_goes_back(void **state)
{
    (void)state;
    for (int from = 0; from < JOB_STATES; from++)
        for (int event = 0; event < JEV_COUNT; event++) {
            enum job_state to = (enum job_state)from;

            (void)job_step(&to, (enum job_event)event);
            assert_in_range(to, from, JOB_ENDED);
        }
}

/* Each is done on the way into one state only, so never twice. */
static void test_job_step_starts_reports_and_ends_once(void **state)
{
    static const struct {
        enum job_do what;
        enum job_state to;
    } once[] = {
        {JDO_GATHER, JOB_GATHERING},
        {JDO_START,  JOB_RUNNING  },
        {JDO_TERM,   JOB_STOPPING },
        {JDO_CLEAR,  JOB_CLEARING },
        {JDO_TELL,   JOB_AGREEING },
        {JDO_REPORT, JOB_REPORTING},
        {JDO_END,    JOB_ENDED    },
    };

    (void)state;
    for (int from = 0; from < JOB_STATES; from++)
        for (int event = 0; event < JEV_COUNT; event++)
            for (size_t i = 0; i < LENGTH(once); i++) {
                enum job_state to = (enum job_state)from;
                unsigned what = job_step(&to, (enum job_event)event);

                assert_int_equal(!!(what & once[i].what),
                                 to == once[i].to && from != (int)once[i].to);
            }
}

/* Deadlines do the rest once the ranks are over, which their own machine promises. */
static void test_job_step_a_stop_leads_to_the_end_from_every_state(void **state)
{
    static const enum job_event events[] = {JEV_STOP,  JEV_GRACE, JEV_GRACE, JEV_EXITED,
                                            JEV_GRACE, JEV_GRACE, JEV_GRACE, JEV_WRITTEN};

    (void)state;
    for (int from = 0; from < JOB_STATES; from++) {
        enum job_state at = (enum job_state)from;

        for (size_t i = 0; i < LENGTH(events); i++)
            (void)job_step(&at, events[i]);
        assert_int_equal(at, JOB_ENDED);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_job_step_does_what_the_table_says),
        cmocka_unit_test(test_job_step_never_goes_back),
        cmocka_unit_test(test_job_step_starts_reports_and_ends_once),
        cmocka_unit_test(test_job_step_a_stop_leads_to_the_end_from_every_state),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
