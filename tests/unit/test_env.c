/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/env.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <time.h>

#include "base/buf.h"
#include "core/fit.h"
#include "jobs.h"

#define PYTORCH    "SAGEMAKER_TRAINING_MODULE=sagemaker_pytorch_container.training:main"
#define TENSORFLOW "SAGEMAKER_TRAINING_MODULE=sagemaker_tensorflow_container.training:main"

static long place(const char *name)
{
    for (size_t i = 0; i < made.plan->environment.n; i++)
        if (strncmp(made.plan->environment.v[i], name, strlen(name)) == 0 &&
            made.plan->environment.v[i][strlen(name)] == '=')
            return (long)i;
    return -1;
}

static void test_contract_variables_come_first_and_in_order(void **state)
{
    static const char *const order[] = {"SM_HOSTS",         "SM_HPS",       "SM_TRAINING_ENV",
                                        "SM_USER_ARGS",     "SM_CHANNEL_B", "SM_CHANNEL_A",
                                        "SM_HP_Z",          "SM_HP_Y",      "CURRENT_HOST",
                                        "SAGEMAKER_REGION", "PYTHONPATH",   "PYTHONUNBUFFERED"};

    (void)state;
    given.hyper = "{\"z\": \"1\", \"y\": \"2\"}";
    given.channels = "{\"b\": {}, \"a\": {}}";
    job_make();
    for (size_t i = 1; i < LENGTH(order); i++)
        assert_true(place(order[i - 1]) >= 0 && place(order[i - 1]) < place(order[i]));
    assert_string_equal(job_env("SM_CHANNELS"), "[\"a\",\"b\"]");
    assert_string_equal(job_env("SM_CHANNEL_A"), "/opt/ml/input/data/a");
}

static void test_the_program_of_the_image_wins(void **state)
{
    (void)state;
    given.hyper = "{\"sagemaker_program\": \"\\\"other.py\\\"\"}";
    job_make();
    assert_string_equal(job_env("SM_USER_ENTRY_POINT"), "train.py");
    assert_string_equal(job_env("SM_MODULE_NAME"), "train");
}

static void test_model_parallel_looks_at_what_the_container_had(void **state)
{
    static const char *const cases[][2] = {
        {NULL,        "null" },
        {"",          "\"\"" },
        {"{}",        "false"},
        {"{\"a\":1}", "true" }
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(cases); i++) {
        auto_free char *expected = mem_printf("\"is_modelparallel_enabled\":%s,", cases[i][1]);

        job_again();
        given.hyper = "{\"mp_parameters\": \"{\\\"partitions\\\": 2}\"}";
        if (cases[i][0])
            strv_addf(&given.container, "SM_HP_MP_PARAMETERS=%s", cases[i][0]);
        job_make();
        assert_non_null(strstr(job_env("SM_TRAINING_ENV"), expected));
    }
}

static void test_two_names_of_one_variable_warn_and_the_last_wins_in_place(void **state)
{
    (void)state;
    given.hyper = "{\"lr\": \"1\", \"z\": \"2\", \"LR\": \"3\"}";
    job_make();
    assert_string_equal(job_env("SM_HP_LR"), "3");
    assert_true(place("SM_HP_LR") < place("SM_HP_Z"));
    assert_int_equal(job_warnings("/lr and /LR both give the variable SM_HP_LR"), 1);
    assert_int_equal(made.findings.n, 1);
}

static void test_illegal_names_get_a_legal_second_name_if_it_is_free(void **state)
{
    (void)state;
    given.hyper = "{\"batch-size\": \"8\", \"größe\": \"9\", \"a-b\": \"1\", \"a_b\": \"2\","
                  " \"x.y\": \"3\", \"x y\": \"4\", \"preset-one\": \"5\"}";
    given.channels = "{\"test-set\": {}}";
    strv_add(&given.container, "SM_HP_PRESET_ONE=mine");
    job_make();
    assert_string_equal(job_env("SM_HP_BATCH-SIZE"), "8");
    assert_string_equal(strv_env(&made.plan->aliases, "SM_HP_BATCH_SIZE"), "8");
    assert_string_equal(strv_env(&made.plan->aliases, "SM_HP_GR_SSE"), "9");
    assert_string_equal(strv_env(&made.plan->aliases, "SM_CHANNEL_TEST_SET"),
                        "/opt/ml/input/data/test-set");
    assert_string_equal(strv_env(&made.plan->aliases, "SM_HP_X_Y"), "3");
    assert_null(strv_env(&made.plan->aliases, "SM_HP_A_B"));
    assert_null(strv_env(&made.plan->aliases, "SM_HP_PRESET_ONE"));
    assert_int_equal(job_warnings("SM_HP_A-B"), 1);
    assert_int_equal(job_warnings("SM_HP_X Y has no second name that shells allow: SM_HP_X_Y is "
                                  "taken by SM_HP_X.Y"),
                     1);
    assert_int_equal(made.findings.n, 3);
}

static void test_an_equals_sign_in_a_name_is_refused_but_shown(void **state)
{
    (void)state;
    given.hyper = "{\"a=b\": \"1\"}";
    job_make();
    assert_non_null(strstr(job_error(), "hyperparameters.json: /a=b: "));
    assert_int_equal(made.plan->env_refused.n, 2);
    assert_string_equal(made.plan->env_refused.v[0], "SM_HP_A=B");
    assert_string_equal(made.plan->env_refused.v[1], "1");
    assert_string_equal(job_env("SM_HP_A"), "(not set)");
}

static void test_the_user_s_tuning_wins_also_when_empty(void **state)
{
    (void)state;
    strv_add(&given.container, PYTORCH);
    strv_add(&given.container, "NCCL_DEBUG=TRACE");
    strv_add(&given.container, "PYTHONUNBUFFERED=");
    job_make();
    assert_string_equal(job_env("NCCL_DEBUG"), "(not set)");
    assert_string_equal(job_env("PYTHONUNBUFFERED"), "(not set)");
    assert_string_equal(job_env("NCCL_SOCKET_IFNAME"), "eth0");
    assert_true(strv_has(&made.plan->left_alone, "NCCL_DEBUG"));
    assert_true(strv_has(&made.plan->left_alone, "PYTHONUNBUFFERED"));
    assert_true(strv_has(&made.plan->filled, "NCCL_SOCKET_IFNAME"));
    assert_false(strv_has(&made.plan->filled, "NCCL_DEBUG"));
}

static void test_pytorch_gets_its_variables_and_a_plain_image_only_the_master(void **state)
{
    (void)state;
    strv_add(&given.container, PYTORCH);
    given.facts.torch_version = mem_dup("2.1.0");
    given.facts.master_port = 7801;
    job_make();
    assert_string_equal(job_env("NCCL_IB_DISABLE"), "1");
    assert_string_equal(job_env("NCCL_DEBUG"), "WARN");
    assert_string_equal(job_env("SM_DLC_TORCH_VERSION"), "2.1.0");
    assert_string_equal(job_env("MASTER_ADDR"), "algo-1");
    assert_string_equal(job_env("MASTER_PORT"), "7801");
    job_again();
    job_make();
    assert_string_equal(job_env("NCCL_DEBUG"), "(not set)");
    assert_string_equal(job_env("MASTER_PORT"), "7777");
    job_again();
    given.hyper = "{\"sagemaker_torch_distributed_enabled\": \"true\"}";
    job_make();
    assert_string_equal(job_env("NCCL_DEBUG"), "WARN");
}

static void test_tensorflow_gets_its_variables(void **state)
{
    (void)state;
    given.hyper = "{\"sagemaker_region\": \"eu-west-1\", \"model_dir\": \"s3://b/m\"}";
    strv_add(&given.container, TENSORFLOW);
    given.facts.bucket_region = mem_dup("us-east-2");
    job_make();
    assert_string_equal(job_env("S3_REGION"), "us-east-2");
    assert_string_equal(job_env("S3_USE_HTTPS"), "1");
    assert_string_equal(job_env("TF_CPP_MIN_LOG_LEVEL"), "1");
    assert_string_equal(job_env("SAGEMAKER_REGION"), "eu-west-1");
    assert_string_equal(job_env("NCCL_DEBUG"), "(not set)");
}

static void test_a_lone_host_whose_name_does_not_resolve_uses_the_loopback(void **state)
{
    (void)state;
    given.facts.own_name_resolves = false;
    job_make();
    assert_string_equal(job_env("MASTER_ADDR"), "127.0.0.1");
    assert_non_null(strstr(job_env("SM_TRAINING_ENV"), "\"master_hostname\":\"algo-1\""));
    job_again();
    given.facts.own_name_resolves = false;
    given.resources = "{\"current_host\": \"a\", \"hosts\": [\"a\", \"b\"]}";
    job_make();
    assert_string_equal(job_env("MASTER_ADDR"), "a");
}

static void test_python_path_starts_with_the_code_folder(void **state)
{
    (void)state;
    strv_add(&given.container, "PYTHONPATH=/mine");
    job_make();
    assert_string_equal(job_env("PYTHONPATH"), "/opt/ml/code:/mine");
    job_again();
    strv_add(&given.container, "PYTHONPATH=/mine");
    strv_add(&given.facts.python_path, "/mine");
    strv_add(&given.facts.python_path, "/usr/lib/python3");
    job_make();
    assert_string_equal(job_env("PYTHONPATH"), "/opt/ml/code:/mine:/usr/lib/python3");
}

/* `count` hyperparameters p0, p1, ... of `size` characters each, as the file; to free(). */
static char *many(unsigned count, size_t size)
{
    auto_free char *value = mem_zero(size + 1);
    struct buf text = {0};

    memset(value, 'v', size);
    buf_char(&text, '{');
    for (unsigned i = 0; i < count; i++)
        buf_printf(&text, "%s\"p%u\": \"%s\"", i ? "," : "", i, value);
    buf_char(&text, '}');
    return buf_take(&text);
}

static void test_what_is_too_long_for_a_variable_is_left_to_a_file(void **state)
{
    static const char *const moved[] = {"SM_HPS", "SM_TRAINING_ENV", "SM_USER_ARGS"};
    auto_free char *hyper = many(100, 2500);

    (void)state;
    given.hyper = hyper;
    job_make();
    assert_string_equal(job_error(), "");
    assert_int_equal(made.plan->n_files, LENGTH(moved));
    for (size_t i = 0; i < LENGTH(moved); i++) {
        auto_free char *file = mem_printf("%s_FILE", moved[i]);
        auto_free char *path =
            mem_printf("/opt/ml/output/data/serried/algo-1/env/%s.json", moved[i]);

        assert_string_equal(job_env(moved[i]), "(not set)");
        assert_string_equal(job_env(file), path);
        assert_string_equal(made.plan->files[i].path, path);
        assert_int_equal(job_warnings(path), 1);
    }
    assert_true(strlen(made.plan->files[0].text) > 250000);
    assert_int_equal(strlen(job_env("SM_HP_P99")), 2500);
    assert_int_equal(made.plan->user_args.n, 200);
    assert_int_equal(made.findings.n, 3);
}

static void test_the_longest_aggregates_go_when_all_together_is_too_much(void **state)
{
    auto_free char *hyper = many(20, 5000);

    (void)state;
    given.hyper = hyper;
    for (int i = 0; i < 14; i++)
        strv_addf(&given.container, "X%d=%0100000d", i, 0);
    job_make();
    assert_string_equal(job_error(), "");
    assert_int_equal(made.plan->n_files, 1);
    assert_string_equal(job_env("SM_TRAINING_ENV"), "(not set)");
    assert_non_null(strstr(job_env("SM_TRAINING_ENV_FILE"), "/SM_TRAINING_ENV.json"));
    assert_true(strlen(job_env("SM_HPS")) > 100000);
    assert_int_equal(strlen(job_env("SM_HP_P7")), 5000);
}

static void test_parameters_go_to_files_where_the_aggregates_are_not_enough(void **state)
{
    auto_free char *hyper = many(100, 2000);

    (void)state;
    given.hyper = hyper;
    given.facts.arg_room = 350 << 10;
    job_make();
    assert_string_equal(job_error(), "");
    assert_string_equal(job_env("SM_HPS"), "(not set)");
    assert_string_equal(job_env("SM_HP_P10"), "(not set)");
    assert_string_equal(job_env("SM_HP_P10_FILE"),
                        "/opt/ml/output/data/serried/algo-1/env/SM_HP_P10.json");
    assert_int_equal(strlen(job_env("SM_HP_P99")), 2000);
    assert_int_equal(job_warnings("variables SM_HP_* are not set"), 1);
    assert_int_equal(made.plan->user_args.n, 200);
    job_again();
    given.hyper = hyper;
    given.facts.arg_room = (256 - 32) << 10;
    job_make();
    assert_string_equal(job_error(), "");
    assert_string_equal(job_env("SM_HP_P99"), "(not set)");
    job_again();
    given.hyper = hyper;
    given.facts.arg_room = 200 << 10;
    job_make();
    assert_non_null(strstr(job_error(), "can be started with at most 204800"));
    assert_int_equal(made.plan->n_files, 0);
    assert_int_equal(made.findings.n, 1);
}

static void test_a_second_name_goes_with_its_variable(void **state)
{
    auto_free char *hyper = mem_printf("{\"a-b\": \"%0100000d\"}", 0);

    (void)state;
    given.hyper = hyper;
    given.facts.arg_room = 250000;
    job_make();
    assert_string_equal(job_error(), "");
    assert_string_equal(job_env("SM_HP_A-B"), "(not set)");
    assert_null(strv_env(&made.plan->aliases, "SM_HP_A_B"));
    assert_string_equal(strv_env(&made.plan->aliases, "SM_HP_A_B_FILE"),
                        "/opt/ml/output/data/serried/algo-1/env/SM_HP_A-B.json");
}

/* Pairs of names that would have the same second name. */
static char *colliding(unsigned n)
{
    struct buf text = {0};

    for (unsigned i = 0; i < n; i++)
        buf_printf(&text, "%s\"p.%u\": 1, \"P-%u\": 2", i ? ", " : "{", i, i);
    buf_str(&text, "}");
    return buf_take(&text);
}

static void test_thousands_of_parameters_are_one_refusal_and_no_wait(void **state)
{
    auto_free char *hyper = many(15000, 60);
    auto_free char *odd = colliding(5000);
    clock_t begin = clock();

    (void)state;
    given.hyper = hyper;
    job_make();
    assert_non_null(strstr(job_error(), "arguments and variables take"));
    assert_int_equal(made.findings.n, 1);
    job_again();
    given.hyper = odd;
    job_make();
    assert_int_equal(job_warnings("has no second name"), 20);
    assert_int_equal(job_warnings("4980 more variables have no second name"), 1);
    assert_true((clock() - begin) / CLOCKS_PER_SEC < 2);
}

static void test_arguments_that_cannot_fit_are_refused(void **state)
{
    auto_free char *one = many(1, FIT_STRING_MAX + 1);
    auto_free char *all = many(40, 100000);

    (void)state;
    given.hyper = one;
    job_make();
    assert_non_null(strstr(job_error(), "the argument --p0 has 131072 bytes"));
    job_again();
    given.hyper = all;
    job_make();
    assert_non_null(strstr(job_error(), "arguments and variables take"));
}

static void test_the_longest_legal_argument_is_passed(void **state)
{
    auto_free char *one = many(1, FIT_STRING_MAX);

    (void)state;
    given.hyper = one;
    job_make();
    assert_string_equal(job_error(), "");
    assert_string_equal(job_env("SM_HP_P0"), "(not set)");
    assert_string_equal(job_env("SM_HP_P0_FILE"),
                        "/opt/ml/output/data/serried/algo-1/env/SM_HP_P0.json");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        job_test(test_contract_variables_come_first_and_in_order),
        job_test(test_the_program_of_the_image_wins),
        job_test(test_model_parallel_looks_at_what_the_container_had),
        job_test(test_two_names_of_one_variable_warn_and_the_last_wins_in_place),
        job_test(test_illegal_names_get_a_legal_second_name_if_it_is_free),
        job_test(test_an_equals_sign_in_a_name_is_refused_but_shown),
        job_test(test_the_user_s_tuning_wins_also_when_empty),
        job_test(test_pytorch_gets_its_variables_and_a_plain_image_only_the_master),
        job_test(test_tensorflow_gets_its_variables),
        job_test(test_a_lone_host_whose_name_does_not_resolve_uses_the_loopback),
        job_test(test_python_path_starts_with_the_code_folder),
        job_test(test_what_is_too_long_for_a_variable_is_left_to_a_file),
        job_test(test_the_longest_aggregates_go_when_all_together_is_too_much),
        job_test(test_parameters_go_to_files_where_the_aggregates_are_not_enough),
        job_test(test_a_second_name_goes_with_its_variable),
        job_test(test_thousands_of_parameters_are_one_refusal_and_no_wait),
        job_test(test_arguments_that_cannot_fit_are_refused),
        job_test(test_the_longest_legal_argument_is_passed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
