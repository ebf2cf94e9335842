/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "made.h"

#define ARGUMENTS "{\"msg\": \"a b\", \"q\": \"it's $HOME\"}"

static void test_each_kind_of_entry_has_its_argv(void **state)
{
    static const struct {
        const char *program, *files, *argv;
    } rows[] = {
        {"train.py",       "train.py",          "/usr/bin/python3 train.py"      },
        {"train.py",       "setup.py train.py", "/usr/bin/python3 -m train"      },
        {"train.sh",       "setup.py train.sh", "./train.sh"                     },
        {"trainer",        "trainer",           "./trainer"                      },
        {"-m pkg.trainer", "pkg",               "/usr/bin/python3 -m pkg.trainer"},
        {"-dash.py",       "-dash.py",          "/usr/bin/python3 ./-dash.py"    },
        {"-dash",          "-dash",             "./-dash"                        },
    };
    (void)state;

    for (size_t i = 0; i < LENGTH(rows); i++) {
        const struct given g = {.program = rows[i].program, .files = rows[i].files};
        auto_made struct made m = made_new(&g);

        made_argv(&m.plan->ranks[0].argv, rows[i].argv);
    }
}

static void test_arguments_stay_whole_and_unquoted(void **state)
{
    const struct given g = {.hyper = ARGUMENTS, .program = "train.sh"};
    auto_made struct made m = made_new(&g);
    const struct strv *argv = &m.plan->ranks[0].argv;
    (void)state;

    assert_int_equal(argv->n, 5);
    assert_string_equal(argv->v[1], "--msg");
    assert_string_equal(argv->v[2], "a b");
    assert_string_equal(argv->v[3], "-q");
    assert_string_equal(argv->v[4], "it's $HOME");
}

static void test_requirements_are_installed_once_before_the_ranks(void **state)
{
    static const struct {
        const char *program, *files, *argv;
    } rows[] = {
        {"train.py", "requirements.txt train.py",
         "/usr/bin/python3 -m pip install -r requirements.txt"                                },
        {"train.py", "setup.py train.py",                  "/usr/bin/python3 -m pip install ."},
        {"train.py", "requirements.txt setup.py train.py",
         "/usr/bin/python3 -m pip install . -r requirements.txt"                              },
    };
    (void)state;

    for (size_t i = 0; i < LENGTH(rows); i++) {
        const struct given g = {
            .program = rows[i].program, .files = rows[i].files, .set = "step.install_limit_s=77"};
        auto_made struct made m = made_new(&g);

        assert_int_equal(m.plan->n_steps, 1);
        assert_string_equal(m.plan->steps[0].name, "install");
        made_argv(&m.plan->steps[0].argv, rows[i].argv);
        assert_string_equal(m.plan->steps[0].cwd, "/opt/ml/code");
        assert_int_equal(m.plan->steps[0].deadline_s, 77);
        assert_int_equal(m.plan->steps[0].blame, BLAME_USER);
    }
}

static void test_nothing_is_installed_for_commands(void **state)
{
    const struct given g = {.program = "train.sh", .files = "requirements.txt setup.py train.sh"};
    auto_made struct made m = made_new(&g);
    (void)state;

    assert_int_equal(m.plan->n_steps, 0);
}

static void test_a_codeartifact_repository_is_not_used_yet(void **state)
{
    const struct given used = {.files = "requirements.txt train.py",
                               .variables = "CA_REPOSITORY_ARN=arn:aws:x"};
    const struct given unused = {.variables = "CA_REPOSITORY_ARN=arn:aws:x"};
    auto_made struct made a = made_new(&used);
    auto_made struct made b = made_new(&unused);
    auto_free char *not_yet = made_not_yet(&a);
    (void)state;

    assert_string_equal(not_yet, "CA_REPOSITORY_ARN: installing requirements.txt from "
                                 "CodeArtifact is not part of this version");
    assert_string_equal(made_error(&a), "");
    assert_int_equal(b.plan->not_yet.n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_kind_of_entry_has_its_argv),
        cmocka_unit_test(test_arguments_stay_whole_and_unquoted),
        cmocka_unit_test(test_requirements_are_installed_once_before_the_ranks),
        cmocka_unit_test(test_nothing_is_installed_for_commands),
        cmocka_unit_test(test_a_codeartifact_repository_is_not_used_yet),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
