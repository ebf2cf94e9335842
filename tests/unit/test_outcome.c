/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "core/outcome.h"

static void assert_text(const struct outcome *o, const char *want)
{
    auto_free char *text = outcome_text(o);

    assert_string_equal(text, want);
}

static void test_outcome_passes_exit_codes_on(void **state)
{
    struct outcome o = {.started = true, .ended = true, .exit_code = 3};

    (void)state;
    assert_int_equal(outcome_status(&o), 3);
    assert_text(&o, "exit code 3");
    o.exit_code = 0;
    assert_int_equal(outcome_status(&o), 0);
}

static void test_outcome_names_signals_and_adds_128(void **state)
{
    static const struct {
        int signal, status;
        const char *text;
    } rows[] = {
        {SIGILL,  132, "signal 4 (SIGILL)"  },
        {SIGABRT, 134, "signal 6 (SIGABRT)" },
        {SIGBUS,  135, "signal 7 (SIGBUS)"  },
        {SIGKILL, 137, "signal 9 (SIGKILL)" },
        {SIGSEGV, 139, "signal 11 (SIGSEGV)"},
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct outcome o = {
            .started = true, .ended = true, .exit_code = -1, .signal = rows[i].signal};

        assert_int_equal(outcome_status(&o), rows[i].status);
        assert_text(&o, rows[i].text);
        assert_non_null(outcome_signal_help(rows[i].signal));
    }
}

static void test_outcome_of_a_lost_host_is_no_ranks(void **state)
{
    struct outcome o = {.host = "algo-2", .lost = (char *)(uintptr_t) "connection closed"};

    (void)state;
    assert_int_equal(outcome_status(&o), 69);
    assert_text(&o, "lost: connection closed");
}

static void test_outcome_every_signal_has_a_name(void **state)
{
    char text[16];

    (void)state;
    for (int i = 1; i <= SIGSYS; i++)
        assert_memory_equal(outcome_signal_name(i, text, sizeof(text)), "SIG", 3);
    assert_string_equal(outcome_signal_name(SIGRTMIN + 3, text, sizeof(text)), "SIGRTMIN+3");
    assert_string_equal(outcome_signal_name(99, text, sizeof(text)), "signal 99");
    assert_string_equal(outcome_signal_name(0, text, sizeof(text)), "signal 0");
}

static void test_outcome_help_says_where_to_look(void **state)
{
    (void)state;
    assert_non_null(strstr(outcome_signal_help(SIGBUS), "shared memory"));
    assert_non_null(strstr(outcome_signal_help(SIGILL), "instruction set"));
    assert_null(outcome_signal_help(SIGHUP));
}

static void test_outcome_without_a_start_or_end_is_no_success(void **state)
{
    struct outcome o = {.spawn_error = mem_dup("exec of ./x: Permission denied")};

    (void)state;
    assert_int_equal(outcome_status(&o), 127);
    assert_text(&o, "could not be started");
    outcome_done(&o);
    assert_null(o.spawn_error);
    assert_int_equal(outcome_status(&o), 127);
    assert_text(&o, "was never started");
    o.started = true;
    assert_int_equal(outcome_status(&o), 137);
    assert_text(&o, "did not end");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_outcome_passes_exit_codes_on),
        cmocka_unit_test(test_outcome_names_signals_and_adds_128),
        cmocka_unit_test(test_outcome_of_a_lost_host_is_no_ranks),
        cmocka_unit_test(test_outcome_every_signal_has_a_name),
        cmocka_unit_test(test_outcome_help_says_where_to_look),
        cmocka_unit_test(test_outcome_without_a_start_or_end_is_no_success),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
