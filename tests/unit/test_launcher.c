/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "made.h"

#define PYTORCH    "SAGEMAKER_TRAINING_MODULE=sagemaker_pytorch_container.training:main"
#define TENSORFLOW "SAGEMAKER_TRAINING_MODULE=sagemaker_tensorflow_container.training:main"
#define BASE       "SAGEMAKER_TRAINING_MODULE=somebody.else:main"

#define MPI     "\"sagemaker_mpi_enabled\": \"true\""
#define TORCH   "\"sagemaker_torch_distributed_enabled\": \"true\""
#define DDP     "\"sagemaker_pytorch_ddp_enabled\": \"true\""
#define SMDDP   "\"sagemaker_distributed_dataparallel_enabled\": \"true\""
#define SERVERS "\"sagemaker_parameter_server_enabled\": \"true\""
#define MWMS    "\"sagemaker_multi_worker_mirrored_strategy_enabled\": \"true\""

static void test_each_layer_has_its_own_order_of_launchers(void **state)
{
    static const struct {
        const char *layer, *hyper, *launcher;
    } rows[] = {
        {PYTORCH,    "{}",                                 "plain"              },
        {PYTORCH,    "{" TORCH ", " MPI "}",               "mpi"                },
        {PYTORCH,    "{" TORCH ", " DDP "}",               "smddp"              },
        {PYTORCH,    "{" TORCH ", " SMDDP "}",             "torch"              },
        {PYTORCH,    "{" SERVERS "}",                      "plain"              },
        {TENSORFLOW, "{" MPI ", " SERVERS "}",             "tf-parameter-server"},
        {TENSORFLOW, "{" MPI ", " SMDDP "}",               "mpi"                },
        {TENSORFLOW, "{" MWMS "}",                         "tf-mirrored"        },
        {TENSORFLOW, "{" TORCH "}",                        "plain"              },
        {BASE,       "{" TORCH "}",                        "plain"              },
        {BASE,       "{" TORCH ", " MPI "}",               "mpi"                },
        {NULL,       "{" TORCH ", " SERVERS ", " MWMS "}", "torch"              },
        {NULL,       "{" SERVERS ", " MWMS "}",            "tf-parameter-server"},
    };
    (void)state;

    for (size_t i = 0; i < LENGTH(rows); i++) {
        const struct given g = {
            .resources = TWO_HOSTS, .hyper = rows[i].hyper, .variables = rows[i].layer};
        auto_made struct made m = made_new(&g);

        assert_string_equal(m.plan->launcher, rows[i].launcher);
    }
}

static void test_one_host_needs_no_parameter_servers(void **state)
{
    const struct given g = {.hyper = "{" SERVERS "}", .variables = TENSORFLOW};
    auto_made struct made m = made_new(&g);
    (void)state;

    assert_string_equal(m.plan->launcher, "plain");
    assert_string_equal(made_error(&m), "");
}

static void test_losing_requests_are_warned_about_once_with_the_order(void **state)
{
    const struct given g = {.hyper = "{" TORCH ", " SMDDP "}", .variables = PYTORCH};
    auto_made struct made m = made_new(&g);
    (void)state;

    assert_true(made_warns(&m, "sagemaker_distributed_dataparallel_enabled: no effect, "
                               "sagemaker_torch_distributed_enabled wins: the order of the PyTorch "
                               "layer is sagemaker_mpi_enabled, sagemaker_pytorch_ddp_enabled, "));
}

static void test_a_request_that_the_layer_does_not_know_is_warned_about(void **state)
{
    const struct given g = {.hyper = "{" TORCH "}", .variables = BASE};
    auto_made struct made m = made_new(&g);
    (void)state;

    assert_true(made_warns(&m, "sagemaker_torch_distributed_enabled: no effect, the plain process "
                               "wins"));
}

static void test_a_launcher_that_is_not_built_fails_and_is_still_planned(void **state)
{
    const struct given g = {.resources = TWO_HOSTS, .hyper = "{" MPI "}", .gpus = 8};
    auto_made struct made m = made_new(&g);
    (void)state;

    assert_string_equal(made_error(&m),
                        "the job asks for launcher mpi, which is not part of this version");
    assert_int_equal(findings_first_fatal(&m.findings)->blame, BLAME_SELF);
    assert_string_equal(m.plan->launcher, "mpi");
    assert_int_equal(m.plan->world, 16);
    assert_non_null(strv_env(&m.plan->environment, "SM_HOSTS"));
    assert_int_equal(m.plan->n_ranks, 0);
}

static void test_the_setting_overrides_the_job(void **state)
{
    const struct given g = {.hyper = "{" MPI "}", .set = "launcher=plain"};
    auto_made struct made m = made_new(&g);
    (void)state;

    assert_string_equal(m.plan->launcher, "plain");
    assert_string_equal(made_error(&m), "");
}

static void test_the_setting_makes_a_distribution_of_all_hosts(void **state)
{
    const struct given g = {.resources = TWO_HOSTS, .set = "launcher=torch", .as_host = "algo-2"};
    auto_made struct made m = made_new(&g);
    (void)state;

    assert_string_equal(m.plan->launcher, "torch");
    assert_int_equal(m.plan->role, ROLE_PEER);
    assert_int_equal(m.plan->world, 2);
    assert_int_equal(m.plan->ranks[0].rank, 1);
}

static void test_a_host_outside_the_distribution_runs_alone_without_a_rank(void **state)
{
    const struct given g = {
        .resources = TWO_GROUPS,
        .hyper = "{" TORCH ", \"sagemaker_distribution_instance_groups\": \"[\\\"b\\\"]\"}",
        .set = "launcher=torch",
    };
    auto_made struct made m = made_new(&g);
    (void)state;

    assert_string_equal(made_error(&m), "");
    assert_string_equal(m.plan->launcher, "plain");
    assert_int_equal(m.plan->role, ROLE_OUTSIDE);
    assert_string_equal(m.plan->leader, "algo-2");
    assert_int_equal(m.plan->world, 1);
    assert_string_equal(m.plan->hosts[0].name, "algo-1");
    assert_int_equal(m.plan->n_ranks, 1);
    assert_null(strv_env(&m.plan->ranks[0].env, "RANK"));
}

static void test_plain_hosts_form_one_world_with_one_rank_each(void **state)
{
    const struct given g = {.resources = TWO_HOSTS, .as_host = "algo-2", .gpus = 4};
    auto_made struct made m = made_new(&g);
    const struct strv *env = &m.plan->ranks[0].env;
    (void)state;

    assert_int_equal(m.plan->n_ranks, 1);
    assert_int_equal(m.plan->role, ROLE_PEER);
    assert_string_equal(strv_env(env, "RANK"), "1");
    assert_string_equal(strv_env(env, "LOCAL_RANK"), "0");
    assert_string_equal(strv_env(env, "WORLD_SIZE"), "2");
    assert_string_equal(strv_env(env, "LOCAL_WORLD_SIZE"), "1");
    assert_string_equal(strv_env(env, "GROUP_RANK"), "1");
    assert_string_equal(strv_env(env, "MASTER_ADDR"), "algo-1");
    assert_string_equal(strv_env(env, "MASTER_PORT"), "7777");
    assert_null(strv_env(env, "TORCHELASTIC_RUN_ID"));
}

static void test_one_host_that_cannot_resolve_its_name_uses_the_loopback(void **state)
{
    const struct given alone = {.unresolved = true};
    const struct given two = {.unresolved = true, .resources = TWO_HOSTS};
    auto_made struct made a = made_new(&alone);
    auto_made struct made b = made_new(&two);
    (void)state;

    assert_string_equal(strv_env(&a.plan->ranks[0].env, "MASTER_ADDR"), "127.0.0.1");
    assert_string_equal(strv_env(&b.plan->ranks[0].env, "MASTER_ADDR"), "algo-1");
}

static void test_no_python_for_a_script_names_the_path(void **state)
{
    const struct given g = {.python = ""};
    auto_made struct made m = made_new(&g);
    (void)state;

    assert_string_equal(made_error(&m), "PATH: expected python3 or python to run train.py, found "
                                        "none in \"/bin\"");
    assert_int_equal(findings_first_fatal(&m.findings)->blame, BLAME_PLATFORM);
}

static void test_a_command_needs_no_python(void **state)
{
    const struct given g = {.python = "", .program = "train.sh"};
    auto_made struct made m = made_new(&g);
    (void)state;

    assert_string_equal(made_error(&m), "");
    assert_string_equal(m.plan->executable, "/opt/ml/code/train.sh");
}

static void test_a_setting_that_names_no_python_is_said_so(void **state)
{
    const struct given g = {
        .python = "", .python_fault = "which is a folder", .set = "python=/tmp"};
    auto_made struct made m = made_new(&g);
    (void)state;

    assert_string_equal(made_error(&m), "setting python: expected a program to run train.py, found "
                                        "\"/tmp\", which is a folder");
    assert_int_equal(findings_first_fatal(&m.findings)->blame, BLAME_CONFIG);
}

static void test_ranks_of_the_console_that_are_not_there_are_warned_about(void **state)
{
    static const struct {
        const char *set, *warning;
    } rows[] = {
        {"log.ranks=99",    "setting log.ranks = 99: there is no rank 99, the job has 2 ranks"},
        {"log.ranks=0,2-5", "setting log.ranks = 0,2-5: there is no rank 2, "                 },
        {"log.ranks=1-9",   NULL                                                              },
        {"log.ranks=all",   NULL                                                              },
    };
    (void)state;

    for (size_t i = 0; i < LENGTH(rows); i++) {
        const struct given g = {.hyper = "{" TORCH "}", .gpus = 2, .set = rows[i].set};
        auto_made struct made m = made_new(&g);

        assert_int_equal(made_warns(&m, rows[i].warning ? rows[i].warning : "log.ranks"),
                         rows[i].warning != NULL);
    }
}

static void test_counts_that_the_hosts_agreed_on_number_the_ranks(void **state)
{
    static const unsigned agreed[] = {1, 3};
    const struct given g = {.hyper = "{" TORCH "}", .resources = TWO_HOSTS, .host_ranks = agreed};
    auto_made struct made m = made_new(&g);
    (void)state;

    assert_string_equal(made_error(&m), "");
    assert_int_equal(m.plan->world, 4);
    assert_int_equal(m.plan->hosts[1].first_rank, 1);
    assert_int_equal(m.plan->hosts[1].ranks, 3);
    assert_int_equal(m.plan->not_yet.n, 0);
}

static void test_code_that_must_be_fetched_is_planned_and_not_run_yet(void **state)
{
    const struct given g = {
        .hyper = "{\"sagemaker_submit_directory\": \"s3://b/sourcedir.tar.gz\"}", .files = ""};
    auto_made struct made m = made_new(&g);
    auto_free char *not_yet = made_not_yet(&m);
    (void)state;

    assert_string_equal(made_error(&m), "");
    assert_string_equal(not_yet, "s3://b/sourcedir.tar.gz: fetching code from there into "
                                 "/opt/ml/code is not part of this version");
    made_argv(&m.plan->ranks[0].argv, "/usr/bin/python3 train.py");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_layer_has_its_own_order_of_launchers),
        cmocka_unit_test(test_one_host_needs_no_parameter_servers),
        cmocka_unit_test(test_losing_requests_are_warned_about_once_with_the_order),
        cmocka_unit_test(test_a_request_that_the_layer_does_not_know_is_warned_about),
        cmocka_unit_test(test_a_launcher_that_is_not_built_fails_and_is_still_planned),
        cmocka_unit_test(test_the_setting_overrides_the_job),
        cmocka_unit_test(test_the_setting_makes_a_distribution_of_all_hosts),
        cmocka_unit_test(test_a_host_outside_the_distribution_runs_alone_without_a_rank),
        cmocka_unit_test(test_plain_hosts_form_one_world_with_one_rank_each),
        cmocka_unit_test(test_one_host_that_cannot_resolve_its_name_uses_the_loopback),
        cmocka_unit_test(test_no_python_for_a_script_names_the_path),
        cmocka_unit_test(test_a_command_needs_no_python),
        cmocka_unit_test(test_a_setting_that_names_no_python_is_said_so),
        cmocka_unit_test(test_ranks_of_the_console_that_are_not_there_are_warned_about),
        cmocka_unit_test(test_counts_that_the_hosts_agreed_on_number_the_ranks),
        cmocka_unit_test(test_code_that_must_be_fetched_is_planned_and_not_run_yet),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
