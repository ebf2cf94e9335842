/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "emulator/sdk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strv.h"

#define CASES     "tests/golden/contract/distribution-cases.json"
#define CASES_MAX ((size_t)1 << 20)

/* Keys that do not come from the dictionary: of every job with code, of TensorFlow's class, of the
 * compiler's configuration. */
static bool is_of_others(const char *key)
{
    static const char *const names[] = {
        "sagemaker_submit_directory", "sagemaker_program", "sagemaker_container_log_level",
        "sagemaker_job_name",         "sagemaker_region",  "model_dir"};

    for (size_t i = 0; i < LENGTH(names); i++) {
        if (!strcmp(names[i], key))
            return true;
    }
    return !strncmp(key, "sagemaker_training_compiler", strlen("sagemaker_training_compiler"));
}

static void add_user(const cJSON *input, cJSON *values)
{
    const cJSON *node;
    struct err err = ERR_INIT;

    cJSON_ArrayForEach (node, json_get(input, "hyperparameters")) {
        auto_free char *text = json_python_default(node);

        if (!is_of_others(node->string))
            assert_int_equal(sdk_user_value(values, node->string, text, &err), 0);
    }
}

static void compare(const char *id, const cJSON *expected, const cJSON *found)
{
    const cJSON *node;
    int n = 0;

    cJSON_ArrayForEach (node, expected) {
        const char *text = json_string(json_get(found, node->string));

        if (is_of_others(node->string))
            continue;
        n++;
        if (!text || strcmp(text, json_string(node)) != 0)
            fail_msg("%s: %s: expected %s, found %s", id, node->string, json_string(node),
                     text ? text : "nothing");
    }
    if (n != cJSON_GetArraySize(found))
        fail_msg("%s: expected %d keys, found %d", id, n, cJSON_GetArraySize(found));
}

static void check_case(const cJSON *one)
{
    const char *id = json_string(json_get(one, "id"));
    const cJSON *input = json_get(one, "input");
    const cJSON *dict = json_get(input, "distribution");
    auto_json cJSON *values = cJSON_CreateObject();
    auto_json cJSON *texts = NULL;
    auto_strv struct strv groups = {0};
    struct err err = ERR_INIT;
    struct sdk_job job = {.distribution = cJSON_IsObject(dict) ? dict : NULL,
                          .instance_type = json_string(json_get(input, "instance_type"))};
    const cJSON *group;
    int rc;

    cJSON_ArrayForEach (group, json_get(input, "instance_groups"))
        strv_add(&groups, json_string(json_get(group, "instance_group_name")));
    job.groups = groups.n ? &groups : NULL;
    add_user(input, values);
    rc = sdk_distribution(&job, values, &err);
    if (json_get(one, "error")) {
        if (!rc || err.blame != BLAME_CONFIG || !*err.text)
            fail_msg("%s: expected an error", id);
        return;
    }
    if (rc || sdk_encode(values, &texts, &err))
        fail_msg("%s: %s", id, err.text);
    compare(id, json_get(one, "hyperparameters"), texts);
}

static void test_sdk_sends_what_the_sdk_sends(void **state)
{
    const char *folder = getenv("srcdir");
    auto_free char *path = mem_printf("%s/" CASES, folder ? folder : ".");
    struct err err = ERR_INIT;
    auto_json cJSON *cases = json_read(path, CASES_MAX, &err);
    const cJSON *one;

    (void)state;
    if (!cases)
        fail_msg("%s", err.text);
    assert_true(cJSON_GetArraySize(cases) > 20);
    cJSON_ArrayForEach (one, cases)
        check_case(one);
}

/* The keys of a dictionary as one JSON text, or the sentence of why not; to free(). */
static char *keys_of(const char *text, const char *type, const struct strv *groups, long ranks)
{
    struct err err = ERR_INIT;
    auto_json cJSON *dict = text ? sdk_read(text, &err) : NULL;
    auto_json cJSON *values = cJSON_CreateObject();
    auto_json cJSON *texts = NULL;
    struct sdk_job job = {dict, type, groups, ranks};

    if ((text && !dict) || sdk_distribution(&job, values, &err) ||
        sdk_encode(values, &texts, &err)) {
        assert_int_equal(err.blame, BLAME_CONFIG);
        return mem_dup(err.text);
    }
    return json_python_default(texts);
}

static void expect_groups(const char *text, const struct strv *groups, const char *part)
{
    auto_free char *found = keys_of(text, groups ? NULL : "ml.m5.xlarge", groups, 0);

    if (!strstr(found, part))
        fail_msg("%s: expected %s, found %s", text, part, found);
}

static void expect(const char *text, const char *part)
{
    expect_groups(text, NULL, part);
}

static void test_sdk_python_is_told_how_to_become_json(void **state)
{
    (void)state;
    expect("{'mpi': {'enabled': True}}", "not JSON but Python");
    expect("{\"mpi\": {\"enabled\": True}}", "not JSON but Python");
    expect("{\"mpi\"", "not JSON: ");
    expect("\"mpi\"", "expected a JSON object");
    expect("[]", "found a list");
}

struct refusal {
    const char *text;
    const char *part; /* of the sentence */
};

static void test_sdk_names_what_is_wrong(void **state)
{
    static const struct refusal rows[] = {
        {"{\"torch_distribute\": {}}",                    "did you mean torch_distributed?" },
        {"{\"xyzzy\": {}}",                               "unknown form xyzzy"              },
        {"{\"mpi\": true}",                               "mpi: expected an object"         },
        {"{\"mpi\": {\"enabled\": \"true\"}}",            "enabled: expected true or false" },
        {"{\"mpi\": {\"enabled\": 1}}",                   "found a number"                  },
        {"{\"mpi\": {\"process_per_host\": 8}}",          "did you mean processes_per_host?"},
        {"{\"mpi\": {\"processes_per_host\": -1}}",       "a number of processes"           },
        {"{\"mpi\": {\"processes_per_host\": 1.5}}",      "a number of processes"           },
        {"{\"mpi\": {\"custom_mpi_options\": [\"-x\"]}}", "expected a string, found a list" },
        {"{\"smdistributed\": {\"modelparalel\": {}}}",   "modelparallel"                   },
        {"{\"smdistributed\": {\"xyzzy\": {}}}",          "found xyzzy"                     },
        {"{\"pytorchddp\": {}, \"smdistributed\": {}}",   "cannot be used together"         },
        {"{\"instance_groups\": [\"a\"]}",                "no group a"                      },
        {"{\"instance_groups\": \"a\"}",                  "expected a list of names"        },
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++)
        expect(rows[i].text, rows[i].part);
}

static void test_sdk_parameters_of_model_parallel(void **state)
{
    static const struct refusal rows[] = {
        {"3",                                  "parameters: expected an object"},
        {"{\"pipeline\": \"x\"}",              "pipeline: expected"            },
        {"{\"memory_weight\": 1.5}",           "a number from 0 to 1"          },
        {"{\"microbatches\": 0}",              "a positive whole number"       },
        {"{\"ddp_port\": 1}",                  "need ddp"                      },
        {"{\"ddp\": true, \"horovod\": true}", "exclude each other"            },
        {"{\"auto_partition\": false}",        "needs default_partition"       },
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        auto_free char *text = mem_printf(
            "{\"smdistributed\": {\"modelparallel\": {\"parameters\": %s}}}", rows[i].text);

        expect(text, rows[i].part);
    }
}

static void test_sdk_members_it_does_not_know_are_not_looked_at(void **state)
{
    (void)state;
    expect("{\"torch_distributed\": {\"enabled\": true, \"backend\": 3}}",
           "\"sagemaker_torch_distributed_enabled\": \"true\"");
    expect("{\"torch_distributed\": {\"enabled\": false}}", "{}");
    expect("{}", "{}");
}

static void test_sdk_groups(void **state)
{
    auto_strv struct strv one = {0}, two = {0};

    (void)state;
    strv_add(&one, "a");
    strv_add(&two, "a");
    strv_add(&two, "b");
    expect_groups("{\"mpi\": {\"enabled\": true}}", &one,
                  "\"sagemaker_distribution_instance_groups\": \"[\\\"a\\\"]\"");
    expect_groups("{\"mpi\": {\"enabled\": true}}", &two, "one of the 2 groups, found 0");
    expect_groups("{\"mpi\": {\"enabled\": true}, \"instance_groups\": [\"a\", \"b\"]}", &two,
                  "found 2");
    expect_groups("{\"mpi\": {}, \"instance_groups\": [\"a\"]}", &two, "neither mpi nor");
}

static void test_sdk_ranks_per_host(void **state)
{
    auto_free char *none = keys_of(NULL, "local", NULL, 2);
    auto_free char *single = keys_of(NULL, "local", NULL, 1);
    auto_free char *mpi = keys_of("{\"mpi\": {\"enabled\": true}}", "local", NULL, 4);
    auto_free char *given =
        keys_of("{\"mpi\": {\"enabled\": true, \"processes_per_host\": 8}}", "local", NULL, 4);

    (void)state;
    assert_non_null(strstr(none, "\"sagemaker_torch_distributed_enabled\": \"true\""));
    assert_non_null(strstr(none, "\"sagemaker_mpi_num_of_processes_per_host\": \"2\""));
    assert_string_equal(single, "{}");
    assert_non_null(strstr(mpi, "\"sagemaker_mpi_num_of_processes_per_host\": \"4\""));
    assert_non_null(strstr(given, "\"sagemaker_mpi_num_of_processes_per_host\": \"8\""));
}

static void test_sdk_user_values(void **state)
{
    auto_json cJSON *values = cJSON_CreateObject();
    auto_json cJSON *texts = NULL;
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(sdk_user_value(values, "n", "1e3", &err), 0);
    assert_int_equal(sdk_user_value(values, "text", "adam", &err), 0);
    assert_int_equal(sdk_user_value(values, "list", "[1,2]", &err), 0);
    assert_int_equal(sdk_user_value(values, "empty", "", &err), 0);
    assert_int_equal(sdk_user_value(values, "utf8", "\xc3\xa9", &err), 0);
    assert_true(sdk_user_value(values, "n", "2", &err) < 0);
    assert_true(sdk_user_value(values, "", "2", &err) < 0);
    assert_true(sdk_user_value(values, "bad", "\xff", &err) < 0);
    assert_int_equal(sdk_encode(values, &texts, &err), 0);
    assert_string_equal(json_string(json_get(texts, "n")), "1000.0");
    assert_string_equal(json_string(json_get(texts, "text")), "\"adam\"");
    assert_string_equal(json_string(json_get(texts, "list")), "[1, 2]");
    assert_string_equal(json_string(json_get(texts, "empty")), "\"\"");
    assert_string_equal(json_string(json_get(texts, "utf8")), "\"\\u00e9\"");
}

static void test_sdk_what_the_service_refuses(void **state)
{
    auto_json cJSON *values = cJSON_CreateObject();
    auto_json cJSON *texts = NULL;
    char text[SDK_VALUE_MAX + 1] = {0};
    struct err err = ERR_INIT;

    (void)state;
    memset(text, 'x', SDK_VALUE_MAX); /* two quotes make it too long */
    assert_int_equal(sdk_user_value(values, "long", text, &err), 0);
    assert_true(sdk_encode(values, &texts, &err) < 0);
    assert_non_null(strstr(err.text, "2502 characters"));
    assert_null(texts);
    cJSON_DeleteItemFromObjectCaseSensitive(values, "long");
    for (int i = 0; i <= SDK_KEYS_MAX; i++) {
        auto_free char *name = mem_printf("k%d", i);

        assert_int_equal(sdk_user_value(values, name, "1", &err), 0);
    }
    assert_true(sdk_encode(values, &texts, &err) < 0);
    assert_non_null(strstr(err.text, "101 hyperparameters"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sdk_sends_what_the_sdk_sends),
        cmocka_unit_test(test_sdk_python_is_told_how_to_become_json),
        cmocka_unit_test(test_sdk_names_what_is_wrong),
        cmocka_unit_test(test_sdk_parameters_of_model_parallel),
        cmocka_unit_test(test_sdk_members_it_does_not_know_are_not_looked_at),
        cmocka_unit_test(test_sdk_groups),
        cmocka_unit_test(test_sdk_ranks_per_host),
        cmocka_unit_test(test_sdk_user_values),
        cmocka_unit_test(test_sdk_what_the_service_refuses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
