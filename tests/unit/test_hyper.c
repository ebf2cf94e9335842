/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/hyper.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "jobs.h"

static const char per_host[] = "sagemaker_mpi_num_of_processes_per_host";

/* The job's sentence for one hyperparameter; `value` as it stands in the file. */
static const char *error_for(const char *name, const char *value)
{
    auto_free char *text = mem_printf("{\"%s\": %s}", name, value);

    job_again();
    given.hyper = text;
    job_make();
    return job_error();
}

static void test_one_level_of_quotes_is_decoded_and_text_stays_text(void **state)
{
    (void)state;
    given.hyper = "{\"note\": \"some text\", \"epochs\": \"3\", \"obj\": \"\\\"reg:sq\\\"\","
                  " \"layers\": \"[64, 128]\", \"path\": \"s3://b/k?x=1\", \"empty\": \"\","
                  " \"plain\": 7, \"nothing\": \"null\", \"py\": \"True\"}";
    job_make();
    assert_string_equal(job_error(), "");
    assert_string_equal(job_env("SM_HPS"),
                        "{\"empty\":\"\",\"epochs\":3,\"layers\":[64,128],\"note\":\"some text\","
                        "\"nothing\":null,\"obj\":\"reg:sq\",\"path\":\"s3://b/k?x=1\","
                        "\"plain\":7,\"py\":\"True\"}");
    assert_int_equal(made.findings.n, 0);
}

static void test_three_kinds_are_told_apart_by_name(void **state)
{
    (void)state;
    given.hyper =
        "{\"sagemaker_region\": \"\\\"eu-west-1\\\"\", \"sagemaker_mpi_enabled\": \"true\","
        " \"SageMaker_x\": \"1\", \"sagemaker\": \"2\", \"\": \"3\","
        " \"default_user_module_name\": \"net\", \"serried_torch_port\": \"1234\"}";
    job_make();
    assert_string_equal(job_env("SM_HPS"), "{\"\":3,\"SageMaker_x\":1,\"sagemaker\":2}");
    assert_string_equal(job_env("SM_FRAMEWORK_PARAMS"), "{\"sagemaker_mpi_enabled\":true}");
    assert_string_equal(job_env("SAGEMAKER_REGION"), "eu-west-1");
    assert_true(made.job->want[WANT_MPI]);
}

static void test_settings_of_our_own_leave_no_trace(void **state)
{
    (void)state;
    given.hyper = "{\"serried_stop_grace_s\": \"5\"}";
    job_make();
    for (size_t i = 0; i < made.plan->environment.n; i++)
        assert_null(strstr(made.plan->environment.v[i], "grace"));
    assert_int_equal(made.plan->user_args.n, 0);
}

static void test_an_upload_that_will_not_happen_is_warned_about(void **state)
{
    (void)state;
    given.hyper = "{\"sagemaker_s3_output\": \"\\\"s3://bucket/key\\\"\"}";
    job_make();
    assert_string_equal(job_error(), "");
    assert_int_equal(made.findings.n, 1);
    assert_non_null(strstr(made.findings.v[0].text, "sagemaker_s3_output: no effect"));
}

static void test_a_misspelt_framework_key_names_the_nearest_known_one(void **state)
{
    (void)state;
    given.hyper = "{\"sagemaker_mpi_num_of_process_per_host\": \"8\","
                  " \"sagemaker_something_else_entirely\": \"1\"}";
    job_make();
    assert_string_equal(job_error(), "");
    assert_int_equal(made.findings.n, 1);
    assert_int_equal(job_warnings(per_host), 1);
    assert_int_equal(job_warnings("sagemaker_mpi_num_of_process_per_host"), 1);
}

static void test_absurd_process_counts_are_refused_with_key_and_value(void **state)
{
    static const char *const bad[] = {
        "\"0\"", "\"-1\"", "\"eight\"", "\"2.5\"", "\"8.0\"",
        "0",     "[8]",    "true",      "\"1e9\"", "\"999999999999\""};

    (void)state;
    for (size_t i = 0; i < LENGTH(bad); i++)
        assert_non_null(strstr(error_for(per_host, bad[i]), per_host));
    assert_string_equal(error_for(per_host, "\"2.5\""),
                        "hyperparameters.json: /sagemaker_mpi_num_of_processes_per_host: expected "
                        "a whole number from 1 to 65536, found 2.5");
    assert_int_equal(findings_first_fatal(&made.findings)->blame, BLAME_CONFIG);
}

static void test_process_count_may_be_a_number_in_quotes_or_absent(void **state)
{
    (void)state;
    assert_string_equal(error_for(per_host, "\"\\\"8\\\"\""), "");
    assert_int_equal(made.job->per_host, 8);
    assert_string_equal(error_for(per_host, "\"4\""), "");
    assert_int_equal(made.job->per_host, 4);
    assert_string_equal(error_for(per_host, "\"null\""), "");
    assert_int_equal(made.job->per_host, 0);
}

static void test_flags_take_truth_in_every_spelling_and_nothing_else(void **state)
{
    static const char *const on[] = {"true", "\"true\"", "\"True\"", "\"\\\"true\\\"\"", "\"1\""};
    static const char *const off[] = {"false", "\"False\"", "\"\\\"false\\\"\"",
                                      "\"0\"", "\"null\"",  "\"\""};
    static const char *const bad[] = {"\"yes\"", "\"[]\"", "\"{}\""};

    (void)state;
    for (size_t i = 0; i < LENGTH(on); i++) {
        assert_string_equal(error_for("sagemaker_torch_distributed_enabled", on[i]), "");
        assert_true(made.job->want[WANT_TORCH]);
    }
    for (size_t i = 0; i < LENGTH(off); i++) {
        assert_string_equal(error_for("sagemaker_torch_distributed_enabled", off[i]), "");
        assert_false(made.job->want[WANT_TORCH]);
    }
    for (size_t i = 0; i < LENGTH(bad); i++)
        assert_non_null(strstr(error_for("sagemaker_torch_distributed_enabled", bad[i]),
                               "/sagemaker_torch_distributed_enabled: expected true or false"));
}

static void test_texts_that_decode_to_something_else_are_refused_by_name(void **state)
{
    (void)state;
    assert_string_equal(error_for("sagemaker_job_name", "\"42\""),
                        "hyperparameters.json: /sagemaker_job_name: expected a string, found 42");
    assert_non_null(strstr(error_for("sagemaker_region", "\"[1]\""), "/sagemaker_region"));
    assert_non_null(
        strstr(error_for("sagemaker_submit_directory", "\"7\""), "/sagemaker_submit_directory"));
}

static void test_log_level_is_kept_as_given_if_it_is_one(void **state)
{
    (void)state;
    assert_string_equal(error_for("sagemaker_container_log_level", "\"30\""), "");
    assert_string_equal(job_env("SM_LOG_LEVEL"), "30");
    assert_string_equal(error_for("sagemaker_container_log_level", "\"DEBUG\""), "");
    assert_string_equal(job_env("SM_LOG_LEVEL"), "DEBUG");
    assert_non_null(strstr(error_for("sagemaker_container_log_level", "\"loud\""),
                           "/sagemaker_container_log_level: expected a number"));
    assert_string_equal(job_env("SM_LOG_LEVEL"), "20");
}

static void test_log_level_is_a_number_whatever_was_given(void **state)
{
    static const struct {
        const char *given;
        int level;
    } rows[] = {
        {"\"DEBUG\"",    10},
        {"\"warn\"",     30},
        {"\"Warning\"",  30},
        {"\"INFO\"",     20},
        {"\"error\"",    40},
        {"\"critical\"", 50},
        {"\"30\"",       30},
        {"30",           30},
        {"0",            10},
        {"1000",         50},
        {"null",         20},
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        assert_string_equal(error_for("sagemaker_container_log_level", rows[i].given), "");
        assert_int_equal(job_log_level(made.job), rows[i].level);
    }
    assert_string_not_equal(error_for("sagemaker_container_log_level", "\"NOTSET\""), "");
    assert_int_equal(made.findings.n, 1);
    assert_int_equal(job_log_level(made.job), 20);
}

static void test_log_level_variable_must_be_an_integer(void **state)
{
    (void)state;
    strv_add(&given.container, "SAGEMAKER_CONTAINER_LOG_LEVEL=DEBUG");
    job_make();
    assert_non_null(strstr(job_error(), "SAGEMAKER_CONTAINER_LOG_LEVEL: expected a whole number"));
}

static void test_what_no_variable_can_carry_names_its_parameter(void **state)
{
    auto_buf struct buf deep = {0};

    (void)state;
    assert_non_null(
        strstr(error_for("x", "\"\\\"a\\\\u0000b\\\"\""), "hyperparameters.json: /x: "));
    assert_non_null(strstr(error_for("y", "\"\\\"\\\\ud800\\\"\""), "hyperparameters.json: /y: "));
    buf_char(&deep, '"');
    for (int i = 0; i <= JSON_DEPTH_MAX; i++)
        buf_char(&deep, '[');
    for (int i = 0; i <= JSON_DEPTH_MAX; i++)
        buf_char(&deep, ']');
    buf_char(&deep, '"');
    assert_non_null(strstr(error_for("z", buf_text(&deep)), "hyperparameters.json: /z: "));
}

static void test_a_long_value_is_cut_in_the_message(void **state)
{
    auto_buf struct buf value = {0};

    (void)state;
    buf_str(&value, "\"");
    for (int i = 0; i < 1000; i++)
        buf_str(&value, "eight ");
    buf_str(&value, "\"");
    assert_true(strlen(error_for(per_host, buf_text(&value))) < 250);
}

static void test_a_tuning_job_under_tensorflow_gets_its_own_model_folder(void **state)
{
    (void)state;
    given.hyper = "{\"_tuning_objective_metric\": \"loss\", \"model_dir\": \"s3://b/m\", \"z\": 1}";
    strv_add(&given.container,
             "SAGEMAKER_TRAINING_MODULE=sagemaker_tensorflow_container.training:main");
    strv_add(&given.container, "TRAINING_JOB_NAME=job-1");
    job_make();
    assert_string_equal(job_env("SM_HP_MODEL_DIR"), "s3://b/m/job-1/model");
    assert_string_equal(made.job->model_dir_tf, "s3://b/m/job-1/model");
    assert_string_equal(made.plan->user_args.v[1], "s3://b/m/job-1/model");
    job_again();
    given.hyper = "{\"_tuning_objective_metric\": \"loss\", \"model_dir\": \"/opt/ml/model\"}";
    strv_add(&given.container,
             "SAGEMAKER_TRAINING_MODULE=sagemaker_tensorflow_container.training:main");
    strv_add(&given.container, "TRAINING_JOB_NAME=job-1");
    job_make();
    assert_string_equal(job_env("SM_HP_MODEL_DIR"), "/opt/ml/model");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        job_test(test_one_level_of_quotes_is_decoded_and_text_stays_text),
        job_test(test_three_kinds_are_told_apart_by_name),
        job_test(test_settings_of_our_own_leave_no_trace),
        job_test(test_an_upload_that_will_not_happen_is_warned_about),
        job_test(test_a_misspelt_framework_key_names_the_nearest_known_one),
        job_test(test_absurd_process_counts_are_refused_with_key_and_value),
        job_test(test_process_count_may_be_a_number_in_quotes_or_absent),
        job_test(test_flags_take_truth_in_every_spelling_and_nothing_else),
        job_test(test_texts_that_decode_to_something_else_are_refused_by_name),
        job_test(test_log_level_is_kept_as_given_if_it_is_one),
        job_test(test_log_level_is_a_number_whatever_was_given),
        job_test(test_log_level_variable_must_be_an_integer),
        job_test(test_what_no_variable_can_carry_names_its_parameter),
        job_test(test_a_long_value_is_cut_in_the_message),
        job_test(test_a_tuning_job_under_tensorflow_gets_its_own_model_folder),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
