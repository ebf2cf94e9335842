/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/resources.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "jobs.h"

#define GROUP(name, type, hosts)                                                                   \
    "{\"instance_group_name\": \"" name "\", \"instance_type\": \"" type "\", \"hosts\": [" hosts  \
    "]}"
#define TWO_GROUPS                                                                                 \
    "{\"current_host\": \"algo-1\", \"current_group_name\": \"data\","                             \
    " \"current_instance_type\": \"ml.c5.9xlarge\","                                               \
    " \"hosts\": [\"algo-1\", \"algo-2\", \"algo-3\", \"algo-4\"],"                                \
    " \"instance_groups\": [" GROUP("data", "ml.c5.9xlarge", "\"algo-1\", \"algo-2\"") ", " GROUP( \
        "train", "ml.p4d.24xlarge", "\"algo-3\", \"algo-4\"") "]}"

static const char *error_for(const char *resources)
{
    job_again();
    given.resources = resources;
    job_make();
    return job_error();
}

static void assert_list(const struct strv *list, const char *expected)
{
    auto_free char *found = strv_join(list, " ");

    assert_string_equal(found, expected);
}

static void test_only_hosts_and_the_current_one_are_needed(void **state)
{
    (void)state;
    job_make();
    assert_int_equal(made.findings.n, 0);
    assert_string_equal(made.job->instance_type, "local");
    assert_string_equal(made.job->group, "homogeneousCluster");
    assert_string_equal(made.job->interface, "eth0");
    assert_string_equal(made.job->leader, "algo-1");
    assert_true(made.job->is_leader);
    assert_false(made.job->takes_part);
}

static void test_null_where_the_platform_writes_it_means_absent(void **state)
{
    (void)state;
    given.resources = "{\"current_host\": \"a\", \"hosts\": [\"a\"], \"topology\": null,"
                      " \"instance_groups\": null, \"current_instance_type\": null}";
    job_make();
    assert_int_equal(made.findings.n, 0);
    assert_string_equal(job_env("SM_TOPOLOGY"), "(not set)");
    assert_string_equal(made.job->instance_type, "local");
}

static void assert_fault(const char *resources, const char *expected)
{
    auto_free char *whole = mem_printf("resourceconfig.json: %s", expected);

    assert_string_equal(error_for(resources), whole);
    assert_int_equal(findings_first_fatal(&made.findings)->blame, BLAME_CONFIG);
}

#define HOST_A(more) "{\"current_host\": \"a\", \"hosts\": [\"a\"], " more "}"

static void test_faults_of_hosts_name_file_place_expected_and_found(void **state)
{
    (void)state;
    assert_fault("{\"current_host\": \"a\", \"hosts\": 3}",
                 "/hosts: expected a list of strings, found a number");
    assert_fault("{\"current_host\": \"a\"}", "/hosts: expected a list of strings, found nothing");
    assert_fault("{\"current_host\": \"a\", \"hosts\": []}", "/hosts: the list is empty");
    assert_fault("{\"current_host\": \"a\", \"hosts\": [\"a\", 7]}",
                 "/hosts/1: expected a string, found a number");
    assert_fault("{\"current_host\": \"a\", \"hosts\": [\"a\", \"\"]}",
                 "/hosts/1: expected the name of a host, found \"\"");
    assert_fault("{\"current_host\": \"a\", \"hosts\": [\"../x\"]}",
                 "/hosts/0: expected the name of a host, found \"../x\"");
    assert_fault("{\"current_host\": \"a\", \"hosts\": [\"a\", \"b\", \"a\"]}",
                 "/hosts: a is there twice");
    assert_fault("{\"hosts\": [\"a\"]}", "/current_host: expected a string, found nothing");
    assert_fault("{\"current_host\": [], \"hosts\": [\"a\"]}",
                 "/current_host: expected a string, found a list");
    assert_fault("{\"current_host\": \"b\", \"hosts\": [\"a\"]}",
                 "/current_host: expected one of /hosts, found \"b\"");
}

static void test_faults_of_the_rest_do_so_too(void **state)
{
    (void)state;
    assert_fault(HOST_A("\"network_interface_name\": \"\""),
                 "/network_interface_name: the string is empty");
    assert_fault(HOST_A("\"current_group_name\": 1"),
                 "/current_group_name: expected a string, found a number");
    assert_fault(HOST_A("\"topology\": {}"), "/topology: expected a list, found an object");
    assert_fault(HOST_A("\"instance_groups\": \"g\""),
                 "/instance_groups: expected a list of objects, found a string");
    assert_fault(HOST_A("\"instance_groups\": [{\"hosts\": [\"a\"]}]"),
                 "/instance_groups/0/instance_group_name: expected a name, found nothing");
    assert_fault(HOST_A("\"instance_groups\": [{\"instance_group_name\": \"g\"}]"),
                 "/instance_groups/0/hosts: expected a list of strings, found nothing");
    assert_fault(HOST_A("\"instance_groups\": [" GROUP("g", "t", "\"b\"") "]"),
                 "/instance_groups/0/hosts: expected hosts of /hosts, found \"b\"");
    assert_fault(
        HOST_A("\"instance_groups\": [" GROUP("g", "t", "\"a\"") ", " GROUP("g", "t", "") "]"),
        "/instance_groups/1/instance_group_name: g is there twice");
}

static void test_host_order_is_the_list_s_own(void **state)
{
    (void)state;
    given.resources = "{\"current_host\": \"node-a\", \"hosts\": [\"node-b\", \"node-a\"]}";
    given.hyper = "{\"sagemaker_torch_distributed_enabled\": \"true\"}";
    job_make();
    assert_string_equal(job_env("SM_HOSTS"), "[\"node-b\",\"node-a\"]");
    assert_string_equal(made.job->leader, "node-b");
    assert_false(made.job->is_leader);
    assert_true(made.job->takes_part);
}

static void test_named_groups_take_part_and_the_first_of_them_leads(void **state)
{
    (void)state;
    given.resources = TWO_GROUPS;
    given.hyper = "{\"sagemaker_mpi_enabled\": \"true\","
                  " \"sagemaker_distribution_instance_groups\": \"[\\\"train\\\"]\"}";
    job_make();
    assert_string_equal(job_error(), "");
    assert_list(&made.job->dist_hosts, "algo-3 algo-4");
    assert_string_equal(made.job->leader, "algo-3");
    assert_string_equal(job_meeting_host(made.job), "algo-3");
    assert_false(made.job->takes_part);
    assert_list(&made.job->group_hosts, "algo-1 algo-2");
    assert_true(job_is_hetero(made.job));
}

static void test_unnamed_groups_form_clusters_of_their_own(void **state)
{
    (void)state;
    given.resources = TWO_GROUPS;
    given.hyper = "{\"sagemaker_torch_distributed_enabled\": \"true\"}";
    given.as_host = "algo-4";
    job_make();
    assert_list(&made.job->dist_hosts, "algo-3 algo-4");
    assert_string_equal(made.job->leader, "algo-3");
    assert_string_equal(job_meeting_host(made.job), "algo-1");
    assert_true(made.job->takes_part);
}

static void test_group_list_must_be_a_list_of_known_names(void **state)
{
    (void)state;
    given.resources = TWO_GROUPS;
    given.hyper = "{\"sagemaker_distribution_instance_groups\": \"\\\"train\\\"\"}";
    job_make();
    assert_string_equal(job_error(),
                        "hyperparameters.json: /sagemaker_distribution_instance_groups: expected a "
                        "list of group names, found a string");
    job_again();
    given.resources = TWO_GROUPS;
    given.hyper = "{\"sagemaker_distribution_instance_groups\": \"[\\\"trian\\\"]\"}";
    job_make();
    assert_string_equal(job_error(),
                        "hyperparameters.json: /sagemaker_distribution_instance_groups: expected "
                        "names out of data, train, found \"trian\"");
}

static void test_as_host_sees_what_that_host_would_see(void **state)
{
    (void)state;
    given.resources = TWO_GROUPS;
    given.as_host = "algo-3";
    job_make();
    assert_string_equal(job_error(), "");
    assert_string_equal(job_env("SM_CURRENT_HOST"), "algo-3");
    assert_string_equal(job_env("SM_CURRENT_INSTANCE_TYPE"), "ml.p4d.24xlarge");
    assert_string_equal(job_env("SM_CURRENT_INSTANCE_GROUP"), "train");
    assert_non_null(strstr(job_env("SM_RESOURCE_CONFIG"), "\"current_host\":\"algo-3\""));
    assert_null(strstr(job_env("SM_RESOURCE_CONFIG"), "network_interface_name"));
}

static void test_as_host_refuses_a_stranger(void **state)
{
    (void)state;
    given.as_host = "algo-9";
    job_make();
    assert_non_null(strstr(job_error(), "algo-9 is not a host of this job"));
}

static void test_a_missing_interface_is_replaced_by_the_loopback_when_alone(void **state)
{
    (void)state;
    given.resources = "{\"current_host\": \"a\", \"hosts\": [\"a\"],"
                      " \"network_interface_name\": \"ethwe\"}";
    strv_add(&given.facts.interfaces, "eth0");
    strv_add(&given.facts.interfaces, "lo");
    job_make();
    assert_string_equal(job_env("SM_NETWORK_INTERFACE_NAME"), "lo");
    assert_non_null(strstr(job_env("SM_TRAINING_ENV"), "\"network_interface_name\":\"lo\""));
    assert_int_equal(job_warnings("this host has no ethwe"), 1);
}

static void test_a_missing_interface_is_never_the_loopback_with_peers(void **state)
{
    (void)state;
    given.resources = "{\"current_host\": \"a\", \"hosts\": [\"a\", \"b\"]}";
    strv_add(&given.facts.interfaces, "lo");
    strv_add(&given.facts.interfaces, "ens5");
    job_make();
    assert_string_equal(job_env("SM_NETWORK_INTERFACE_NAME"), "ens5");
    assert_int_equal(job_warnings("this host has no eth0"), 1);
}

static void test_without_the_file_everything_is_empty_but_there(void **state)
{
    struct tree tree = {.base = mem_dup("/opt/ml")};

    (void)state;
    made.job = job_new(&tree, &given.container, &given.facts, "algo-1", &made.findings);
    assert_string_equal(made.job->host, "");
    assert_string_equal(made.job->leader, "");
    assert_false(made.job->is_leader);
    assert_int_equal(made.job->hosts.n, 0);
    tree_done(&tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        job_test(test_only_hosts_and_the_current_one_are_needed),
        job_test(test_null_where_the_platform_writes_it_means_absent),
        job_test(test_faults_of_hosts_name_file_place_expected_and_found),
        job_test(test_faults_of_the_rest_do_so_too),
        job_test(test_host_order_is_the_list_s_own),
        job_test(test_named_groups_take_part_and_the_first_of_them_leads),
        job_test(test_unnamed_groups_form_clusters_of_their_own),
        job_test(test_group_list_must_be_a_list_of_known_names),
        job_test(test_as_host_sees_what_that_host_would_see),
        job_test(test_as_host_refuses_a_stranger),
        job_test(test_a_missing_interface_is_replaced_by_the_loopback_when_alone),
        job_test(test_a_missing_interface_is_never_the_loopback_with_peers),
        job_test(test_without_the_file_everything_is_empty_but_there),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
