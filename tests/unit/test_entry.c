/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/entry.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "jobs.h"

/* Makes a job with this program and these names in the code folder. */
static void make(const char *program, const char *names)
{
    job_again();
    strv_env_set(&given.container, "SAGEMAKER_PROGRAM", program);
    given.folders[0].names = names;
    job_make();
}

static void test_kind_follows_name_and_folder_in_order(void **state)
{
    static const struct {
        const char *program, *names, *module;
        enum entry_kind kind;
    } cases[] = {
        {"train.py",       "train.py",          NULL,          ENTRY_SCRIPT },
        {"train.sh",       "setup.py train.sh", NULL,          ENTRY_COMMAND},
        {"my.pyscript.py", "setup.py",          "my.pyscript", ENTRY_PACKAGE},
        {"./a/b.py",       "setup.py",          "a.b",         ENTRY_PACKAGE},
        {"run",            "run",               NULL,          ENTRY_COMMAND},
        {"-m pkg.mod",     "pkg",               "pkg.mod",     ENTRY_MODULE },
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(cases); i++) {
        make(cases[i].program, cases[i].names);
        assert_string_equal(job_error(), "");
        assert_int_equal(made.job->entry, cases[i].kind);
        if (cases[i].module)
            assert_string_equal(made.job->entry_module, cases[i].module);
        else
            assert_null(made.job->entry_module);
    }
}

static void test_no_program_lists_the_places_and_what_is_there(void **state)
{
    (void)state;
    strv_env_unset(&given.container, "SAGEMAKER_PROGRAM");
    given.folders[0].names = "notes.txt run.sh train.py";
    job_make();
    assert_int_equal(made.job->entry, ENTRY_NONE);
    assert_non_null(strstr(job_error(), "sagemaker_program"));
    assert_non_null(strstr(job_error(), "/opt/ml/input/config/hyperparameters.json"));
    assert_non_null(strstr(job_error(), "SAGEMAKER_PROGRAM"));
    assert_non_null(strstr(job_error(), "run.sh, train.py"));
    assert_int_equal(findings_first_fatal(&made.findings)->blame, BLAME_CONFIG);
}

static void test_a_missing_program_names_folder_near_name_and_programs(void **state)
{
    (void)state;
    make("trian.py", "data.csv eval.py train.py");
    assert_string_equal(job_error(),
                        "/opt/ml/code: no trian.py there; is train.py meant? (programs "
                        "there: eval.py, train.py)");
}

static void test_at_most_ten_programs_are_listed(void **state)
{
    (void)state;
    make("zzzzzzzz", "a.py b.py c.py d.py e.py f.py g.py h.py i.py j.py k.py l.py");
    assert_non_null(strstr(job_error(), "i.py, j.py, ...)"));
}

static void test_a_program_in_a_folder_is_looked_for_there(void **state)
{
    (void)state;
    given.folders[0].names = "src";
    given.folders[1] = (struct folder){"/opt/ml/code/src", "train.py"};
    strv_env_set(&given.container, "SAGEMAKER_PROGRAM", "src/train.py");
    job_make();
    assert_string_equal(job_error(), "");
    make("src/train.py", "train.py");
    assert_string_equal(job_error(), "/opt/ml/code: no src/train.py there; is train.py meant? "
                                     "(programs there: train.py)");
}

static void test_a_folder_is_no_program(void **state)
{
    static const char *const programs[] = {"src", "src/", "./src"};

    (void)state;
    for (size_t i = 0; i < LENGTH(programs); i++) {
        auto_free char *path = mem_printf("/opt/ml/code/%s", programs[i]);

        job_again();
        given.folders[0].names = "src train.py";
        given.folders[1] = (struct folder){path, "train.py"};
        strv_env_set(&given.container, "SAGEMAKER_PROGRAM", programs[i]);
        job_make();
        assert_string_equal(job_error() + strlen(path), ": expected a program, found a folder");
    }
    job_again();
    given.folders[0].names = "setup.py src";
    given.folders[1] = (struct folder){"/opt/ml/code/src", "__main__.py"};
    strv_env_set(&given.container, "SAGEMAKER_PROGRAM", "src");
    job_make();
    assert_string_equal(job_error(), "");
}

static void test_a_folder_that_cannot_be_read_is_said_so(void **state)
{
    (void)state;
    given.folders[0].names = NULL;
    job_make();
    assert_string_equal(job_error(), "/opt/ml/code: the folder cannot be read: Permission denied");
    assert_int_equal(made.findings.n, 1);
    job_again();
    given.folders[0].names = "src";
    given.folders[1] = (struct folder){"/opt/ml/code/src", NULL};
    strv_env_set(&given.container, "SAGEMAKER_PROGRAM", "src/train.py");
    job_make();
    assert_string_equal(job_error(),
                        "/opt/ml/code/src: the folder cannot be read: Permission denied");
    job_again();
    strv_add(&given.container, "SAGEMAKER_SUBMIT_DIRECTORY=/opt/app");
    given.folders[1] = (struct folder){"/opt/app", NULL};
    job_make();
    assert_string_equal(job_error(), "/opt/app: the folder cannot be read: Permission denied");
}

static void test_a_program_outside_of_the_code_folder_is_named_by_its_place(void **state)
{
    (void)state;
    make("../t.sh", "train.py");
    assert_string_equal(job_error(), "/opt/ml/t.sh: no such program; ../t.sh leads out of the code "
                                     "folder /opt/ml/code");
    job_again();
    given.folders[1] = (struct folder){"/opt/ml/code/..", "code t.sh"};
    strv_env_set(&given.container, "SAGEMAKER_PROGRAM", "../t.sh");
    job_make();
    assert_string_equal(job_error(), "");
}

static void test_a_package_may_bring_its_module_by_itself(void **state)
{
    (void)state;
    make("train.py", "setup.py src");
    assert_string_equal(job_error(), "");
    assert_int_equal(job_warnings("no train.py there"), 1);
}

static void test_an_empty_code_folder_is_filled_from_a_folder_that_is_looked_into(void **state)
{
    (void)state;
    given.hyper = "{\"sagemaker_submit_directory\": \"/opt/src\"}";
    given.folders[0].names = "";
    given.folders[1] = (struct folder){"/opt/src", "setup.py train.py"};
    job_make();
    assert_string_equal(job_error(), "");
    assert_true(made.job->code_fetch);
    assert_false(made.job->code_unknown);
    assert_int_equal(made.job->entry, ENTRY_PACKAGE);
    assert_string_equal(made.job->code_dir, "/opt/ml/code");
    assert_string_equal(job_env("SM_MODULE_DIR"), "/opt/src");
}

static void test_archives_and_addresses_cannot_be_looked_into(void **state)
{
    static const char *const sources[] = {"s3://b/k.tar.gz", "/opt/src/k.tar.gz"};

    (void)state;
    for (size_t i = 0; i < LENGTH(sources); i++) {
        auto_free char *hyper = mem_printf("{\"sagemaker_submit_directory\": \"%s\"}", sources[i]);

        job_again();
        given.hyper = hyper;
        given.folders[0].names = "";
        given.folders[1] = (struct folder){"/opt/src", "k.tar.gz"};
        job_make();
        assert_string_equal(job_error(), "");
        assert_true(made.job->code_fetch && made.job->code_unknown);
        assert_int_equal(made.job->entry, ENTRY_SCRIPT);
    }
}

static void test_code_that_is_there_is_not_fetched(void **state)
{
    (void)state;
    given.hyper = "{\"sagemaker_submit_directory\": \"s3://b/k.tar.gz\"}";
    job_make();
    assert_false(made.job->code_fetch);
    assert_false(made.job->code_unknown);
}

static void test_a_source_that_is_nowhere_is_refused(void **state)
{
    (void)state;
    given.hyper = "{\"sagemaker_submit_directory\": \"/opt/src\"}";
    given.folders[0].names = "";
    job_make();
    assert_non_null(strstr(job_error(), "there is no /opt/src"));
}

static void test_the_image_s_folder_runs_as_it_lies_there(void **state)
{
    (void)state;
    strv_add(&given.container, "SAGEMAKER_SUBMIT_DIRECTORY=/opt/app/");
    given.folders[1] = (struct folder){"/opt/app", "train.py"};
    given.folders[2] = (struct folder){"/opt/app/", "train.py"};
    job_make();
    assert_string_equal(job_error(), "");
    assert_true(made.job->in_place);
    assert_false(made.job->code_fetch);
    assert_string_equal(made.job->code_dir, "/opt/app");
    assert_string_equal(job_env("PYTHONPATH"), "/opt/app");
    job_again();
    strv_add(&given.container, "SAGEMAKER_SUBMIT_DIRECTORY=/opt/app");
    given.folders[1] = (struct folder){"/opt/app", "other.py"};
    job_make();
    assert_non_null(strstr(job_error(), "/opt/app: no train.py there"));
}

static void test_the_hyperparameter_wins_over_the_image_s_folder(void **state)
{
    (void)state;
    given.hyper = "{\"sagemaker_submit_directory\": \"/opt/src\"}";
    strv_add(&given.container, "SAGEMAKER_SUBMIT_DIRECTORY=/opt/app");
    job_make();
    assert_false(made.job->in_place);
    assert_string_equal(made.job->submit_dir, "/opt/src");
    assert_string_equal(made.job->code_dir, "/opt/ml/code");
}

static void test_the_image_may_name_an_archive_or_an_address(void **state)
{
    static const char *const sources[] = {"s3://b/k.tar.gz", "/opt/src/k.tar.gz"};

    (void)state;
    for (size_t i = 0; i < LENGTH(sources); i++) {
        job_again();
        strv_addf(&given.container, "SAGEMAKER_SUBMIT_DIRECTORY=%s", sources[i]);
        given.folders[0].names = "";
        given.folders[1] = (struct folder){"/opt/src", "k.tar.gz"};
        job_make();
        assert_string_equal(job_error(), "");
        assert_false(made.job->in_place);
        assert_string_equal(made.job->code_dir, "/opt/ml/code");
        assert_true(made.job->code_fetch && made.job->code_unknown);
    }
}

static void test_an_image_s_folder_that_is_nowhere_is_refused(void **state)
{
    (void)state;
    strv_add(&given.container, "SAGEMAKER_SUBMIT_DIRECTORY=/opt/app");
    job_make();
    assert_non_null(strstr(job_error(), "SAGEMAKER_SUBMIT_DIRECTORY: there is no /opt/app"));
    job_again();
    strv_add(&given.container, "SAGEMAKER_SUBMIT_DIRECTORY=/opt/app");
    given.facts.given = true; /* the folder is on that other machine */
    job_make();
    assert_string_equal(job_error(), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        job_test(test_kind_follows_name_and_folder_in_order),
        job_test(test_no_program_lists_the_places_and_what_is_there),
        job_test(test_a_missing_program_names_folder_near_name_and_programs),
        job_test(test_at_most_ten_programs_are_listed),
        job_test(test_a_program_in_a_folder_is_looked_for_there),
        job_test(test_a_folder_is_no_program),
        job_test(test_a_folder_that_cannot_be_read_is_said_so),
        job_test(test_a_program_outside_of_the_code_folder_is_named_by_its_place),
        job_test(test_a_package_may_bring_its_module_by_itself),
        job_test(test_an_empty_code_folder_is_filled_from_a_folder_that_is_looked_into),
        job_test(test_archives_and_addresses_cannot_be_looked_into),
        job_test(test_code_that_is_there_is_not_fetched),
        job_test(test_a_source_that_is_nowhere_is_refused),
        job_test(test_the_image_s_folder_runs_as_it_lies_there),
        job_test(test_the_hyperparameter_wins_over_the_image_s_folder),
        job_test(test_the_image_may_name_an_archive_or_an_address),
        job_test(test_an_image_s_folder_that_is_nowhere_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
