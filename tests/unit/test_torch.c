/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "made.h"

#define TORCH "\"sagemaker_torch_distributed_enabled\": \"true\""
#define EACH  "\"sagemaker_mpi_num_of_processes_per_host\": "

static void test_there_is_one_rank_for_each_gpu(void **state)
{
    const struct given g = {
        .resources = TWO_HOSTS, .hyper = "{" TORCH "}", .gpus = 3, .as_host = "algo-2"};
    auto_made struct made m = made_new(&g);
    const struct plan_rank *last = &m.plan->ranks[2];
    (void)state;

    assert_int_equal(m.plan->n_ranks, 3);
    assert_int_equal(m.plan->world, 6);
    assert_int_equal(last->rank, 5);
    assert_int_equal(last->local_rank, 2);
    made_argv(&last->argv, "/usr/bin/python3 train.py");
    assert_string_equal(last->cwd, "/opt/ml/code");
    assert_string_equal(strv_env(&last->env, "RANK"), "5");
    assert_string_equal(strv_env(&last->env, "LOCAL_RANK"), "2");
    assert_string_equal(strv_env(&last->env, "LOCAL_WORLD_SIZE"), "3");
    assert_string_equal(strv_env(&last->env, "GROUP_RANK"), "1");
    assert_string_equal(strv_env(&last->env, "GROUP_WORLD_SIZE"), "2");
}

static void test_ranks_have_what_torchrun_sets(void **state)
{
    const struct given g = {.hyper = "{" TORCH ", \"sagemaker_job_name\": \"job-7\"}"};
    auto_made struct made m = made_new(&g);
    const struct strv *env = &m.plan->ranks[0].env;
    (void)state;

    assert_string_equal(strv_env(env, "ROLE_RANK"), "0");
    assert_string_equal(strv_env(env, "ROLE_WORLD_SIZE"), "1");
    assert_string_equal(strv_env(env, "ROLE_NAME"), "default");
    assert_string_equal(strv_env(env, "TORCHELASTIC_RUN_ID"), "job-7");
    assert_string_equal(strv_env(env, "TORCHELASTIC_RESTART_COUNT"), "0");
    assert_string_equal(strv_env(env, "TORCHELASTIC_MAX_RESTARTS"), "0");
    assert_string_equal(strv_env(env, "TORCHELASTIC_USE_AGENT_STORE"), "False");
}

static void test_processes_are_as_asked_else_gpus_else_cores_else_one(void **state)
{
    static const struct {
        const char *hyper;
        unsigned gpus, neurons, count;
    } rows[] = {
        {"{" TORCH ", " EACH "\"2\"}", 8, 0,  2 },
        {"{" TORCH "}",                8, 32, 8 },
        {"{" TORCH "}",                0, 32, 32},
        {"{" TORCH "}",                0, 0,  1 },
        {"{" TORCH ", " EACH "\"5\"}", 0, 0,  5 },
    };
    (void)state;

    for (size_t i = 0; i < LENGTH(rows); i++) {
        const struct given g = {
            .hyper = rows[i].hyper, .gpus = rows[i].gpus, .neurons = rows[i].neurons};
        auto_made struct made m = made_new(&g);

        assert_string_equal(made_error(&m), "");
        assert_int_equal(m.plan->n_ranks, rows[i].count);
    }
}

static void test_more_processes_than_gpus_are_refused_with_both_numbers_and_the_host(void **state)
{
    const struct given g = {.hyper = "{" TORCH ", " EACH "\"8\"}", .gpus = 4};
    auto_made struct made m = made_new(&g);
    (void)state;

    assert_string_equal(made_error(&m),
                        "sagemaker_mpi_num_of_processes_per_host: 8 processes asked "
                        "for, algo-1 has 4 GPUs; rank.oversubscribe = true allows "
                        "it");
    assert_int_equal(findings_first_fatal(&m.findings)->blame, BLAME_CONFIG);
}

static void test_more_processes_than_gpus_run_where_that_is_allowed(void **state)
{
    const struct given g = {
        .hyper = "{" TORCH ", " EACH "\"8\"}", .gpus = 4, .set = "rank.oversubscribe=true"};
    auto_made struct made m = made_new(&g);
    (void)state;

    assert_string_equal(made_error(&m), "");
    assert_int_equal(m.plan->n_ranks, 8);
}

static void test_idle_gpus_are_warned_about(void **state)
{
    const struct given g = {.hyper = "{" TORCH ", " EACH "\"5\"}", .gpus = 8};
    auto_made struct made m = made_new(&g);
    (void)state;

    assert_true(made_warns(&m, "algo-1: 3 of 8 GPUs stay idle with 5 processes"));
}

static void test_an_absurd_count_is_refused(void **state)
{
    const struct given g = {.hyper = "{" TORCH ", " EACH "\"5000\"}"};
    auto_made struct made m = made_new(&g);
    (void)state;

    assert_int_equal(findings_first_fatal(&m.findings)->blame, BLAME_CONFIG);
    assert_true(m.plan->n_ranks <= LAUNCHER_PER_HOST_MAX);
}

static void test_cpus_are_shared_out_as_threads(void **state)
{
    const struct given shared = {.hyper = "{" TORCH "}", .gpus = 4, .cpus = 10};
    const struct given scarce = {.hyper = "{" TORCH "}", .gpus = 4, .cpus = 2};
    const struct given alone = {.hyper = "{" TORCH "}", .cpus = 10};
    const struct given set = {
        .hyper = "{" TORCH "}", .gpus = 4, .cpus = 10, .variables = "OMP_NUM_THREADS=7"};
    auto_made struct made a = made_new(&shared);
    auto_made struct made b = made_new(&scarce);
    auto_made struct made c = made_new(&alone);
    auto_made struct made d = made_new(&set);
    (void)state;

    assert_string_equal(strv_env(&a.plan->environment, "OMP_NUM_THREADS"), "2");
    assert_string_equal(strv_env(&b.plan->environment, "OMP_NUM_THREADS"), "1");
    assert_null(strv_env(&c.plan->environment, "OMP_NUM_THREADS"));
    assert_null(strv_env(&d.plan->environment, "OMP_NUM_THREADS"));
    assert_true(strv_has(&d.plan->left_alone, "OMP_NUM_THREADS"));
}

static void test_async_errors_go_by_the_name_that_the_library_knows(void **state)
{
    const struct given old = {.hyper = "{" TORCH "}", .torch_version = "1.13.1"};
    const struct given recent = {.hyper = "{" TORCH "}", .torch_version = "2.10.0"};
    auto_made struct made a = made_new(&old);
    auto_made struct made b = made_new(&recent);
    (void)state;

    assert_string_equal(strv_env(&a.plan->environment, "NCCL_ASYNC_ERROR_HANDLING"), "1");
    assert_string_equal(strv_env(&b.plan->environment, "TORCH_NCCL_ASYNC_ERROR_HANDLING"), "1");
}

static void test_every_kind_of_entry_runs_under_native(void **state)
{
    const struct given package = {.hyper = "{" TORCH "}", .files = "setup.py train.py"};
    const struct given command = {.hyper = "{" TORCH "}", .program = "train.sh"};
    auto_made struct made a = made_new(&package);
    auto_made struct made b = made_new(&command);
    (void)state;

    made_argv(&a.plan->ranks[0].argv, "/usr/bin/python3 -m train");
    made_argv(&b.plan->ranks[0].argv, "./train.sh");
}

static void test_exec_on_one_host_has_no_rendezvous_options(void **state)
{
    const struct given g = {
        .hyper = "{" TORCH ", \"lr\": \"0.1\"}", .gpus = 4, .set = "torch.launcher=exec"};
    auto_made struct made m = made_new(&g);
    (void)state;

    assert_true(m.plan->has_launch);
    made_argv(&m.plan->launch.argv, "torchrun --nnodes 1 --nproc_per_node 4 train.py --lr 0.1");
    assert_string_equal(m.plan->launch.cwd, "/opt/ml/code");
    assert_int_equal(m.plan->n_ranks, 0);
    assert_int_equal(m.plan->world, 4);
}

static void test_exec_on_two_hosts_names_leader_port_and_place(void **state)
{
    const struct given g = {.resources = TWO_HOSTS,
                            .hyper = "{" TORCH "}",
                            .neurons = 2,
                            .set = "torch.launcher=exec torch.port=7001",
                            .variables = "RUN_NEURON_PARALLEL_COMPILE=1",
                            .as_host = "algo-2"};
    auto_made struct made m = made_new(&g);
    (void)state;

    made_argv(&m.plan->launch.argv,
              "neuron_parallel_compile torchrun --nnodes 2 --nproc_per_node 2 --master_addr algo-1 "
              "--master_port 7001 --node_rank 1 train.py");
}

static void test_exec_refuses_what_torchrun_cannot_run(void **state)
{
    const struct given package = {
        .hyper = "{" TORCH "}", .files = "setup.py train.py", .set = "torch.launcher=exec"};
    const struct given command = {
        .hyper = "{" TORCH "}", .program = "train.sh", .set = "torch.launcher=exec"};
    auto_made struct made a = made_new(&package);
    auto_made struct made b = made_new(&command);
    (void)state;

    assert_string_equal(made_error(&a),
                        "torch.launcher = exec: torchrun is not given packages, and "
                        "train.py is one; name a Python script, or use "
                        "torch.launcher = native");
    assert_false(a.plan->has_launch);
    assert_non_null(strstr(made_error(&b), "commands, and train.sh is one"));
    assert_int_equal(findings_first_fatal(&b.findings)->blame, BLAME_USER);
}

static void test_each_rank_has_a_file_for_its_error(void **state)
{
    const struct given g = {
        .resources = TWO_HOSTS, .hyper = "{" TORCH "}", .gpus = 2, .as_host = "algo-2"};
    const struct given exec = {.hyper = "{" TORCH "}", .set = "torch.launcher=exec"};
    auto_made struct made m = made_new(&g);
    auto_made struct made e = made_new(&exec);
    (void)state;

    assert_string_equal(strv_env(&m.plan->ranks[1].env, "TORCHELASTIC_ERROR_FILE"),
                        "/opt/ml/output/data/serried/algo-2/errors/3.json");
    assert_null(strv_env(&e.plan->launch.env, "TORCHELASTIC_ERROR_FILE"));
}

static void test_exec_gives_a_script_that_is_no_option(void **state)
{
    const struct given g = {
        .hyper = "{" TORCH "}", .program = "-dash.py", .set = "torch.launcher=exec"};
    auto_made struct made m = made_new(&g);
    (void)state;

    made_argv(&m.plan->launch.argv, "torchrun --nnodes 1 --nproc_per_node 1 ./-dash.py");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_there_is_one_rank_for_each_gpu),
        cmocka_unit_test(test_ranks_have_what_torchrun_sets),
        cmocka_unit_test(test_processes_are_as_asked_else_gpus_else_cores_else_one),
        cmocka_unit_test(test_more_processes_than_gpus_are_refused_with_both_numbers_and_the_host),
        cmocka_unit_test(test_more_processes_than_gpus_run_where_that_is_allowed),
        cmocka_unit_test(test_idle_gpus_are_warned_about),
        cmocka_unit_test(test_an_absurd_count_is_refused),
        cmocka_unit_test(test_cpus_are_shared_out_as_threads),
        cmocka_unit_test(test_async_errors_go_by_the_name_that_the_library_knows),
        cmocka_unit_test(test_every_kind_of_entry_runs_under_native),
        cmocka_unit_test(test_exec_on_one_host_has_no_rendezvous_options),
        cmocka_unit_test(test_exec_on_two_hosts_names_leader_port_and_place),
        cmocka_unit_test(test_exec_refuses_what_torchrun_cannot_run),
        cmocka_unit_test(test_each_rank_has_a_file_for_its_error),
        cmocka_unit_test(test_exec_gives_a_script_that_is_no_option),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
