/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/plan.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "core/redact.h"

#include <stdlib.h>
#include <string.h>

static struct plan *small_plan(void)
{
    struct plan *plan = plan_new();
    struct plan_step *step;
    struct plan_rank *rank;

    plan->host = mem_dup("algo-2");
    plan->leader = mem_dup("algo-1");
    plan->role = ROLE_PEER;
    plan->launcher = "torch";
    plan_add_host(plan, "algo-1", 2);
    plan_add_host(plan, "algo-2", 1);
    step = plan_add_step(plan, "install", "/opt/ml/code", 60, BLAME_USER);
    strv_add(&step->argv, "pip");
    rank = plan_add_rank(plan, 2, 0, "/opt/ml/code");
    strv_add(&rank->argv, "./train.sh");
    strv_add(&rank->argv, "--db_password");
    strv_add(&rank->argv, "pw");
    strv_add(&rank->env, "RANK=2");
    strv_add(&plan->environment, "SM_HOSTS=[\"algo-1\",\"algo-2\"]");
    strv_add(&plan->environment, "SM_HP_DB_PASSWORD=pw");
    strv_add(&plan->environment, "SM_HP_X=a=hunter22=b");
    strv_add(&plan->env_refused, "SM_HP_A=B");
    strv_add(&plan->env_refused, "1");
    strv_add(&plan->aliases, "SM_HP_BATCH_SIZE=32");
    return plan;
}

static void printed(const struct plan *plan, const struct findings *findings,
                    const struct redact *redact, const char *expected)
{
    cJSON *json = plan_json(plan, findings, redact);
    char *text = cJSON_PrintUnformatted(json);

    assert_string_equal(text, expected);
    free(text);
    cJSON_Delete(json);
}

static void test_ranks_of_hosts_follow_each_other(void **state)
{
    struct plan *plan = small_plan();
    (void)state;

    plan_add_host(plan, "algo-3", 4);
    assert_int_equal(plan->hosts[1].first_rank, 2);
    assert_int_equal(plan->hosts[2].first_rank, 3);
    assert_int_equal(plan->world, 7);
    plan_free(plan);
}

static void test_json_has_every_member_in_order(void **state)
{
    struct plan *plan = small_plan();
    struct findings findings = {0};
    (void)state;

    findings_warn(&findings, "one GPU stays idle");
    printed(plan, &findings, NULL,
            "{\"version\":1,\"host\":\"algo-2\",\"leader\":\"algo-1\",\"role\":\"peer\","
            "\"launcher\":\"torch\",\"world\":{\"size\":3,\"hosts\":["
            "{\"name\":\"algo-1\",\"first_rank\":0,\"ranks\":2},"
            "{\"name\":\"algo-2\",\"first_rank\":2,\"ranks\":1}]},"
            "\"steps\":[{\"name\":\"install\",\"argv\":[\"pip\"],\"cwd\":\"/opt/ml/code\","
            "\"deadline_s\":60}],\"files\":[],\"executable\":null,\"launch\":null,"
            "\"ranks\":[{\"rank\":2,\"local_rank\":0,"
            "\"argv\":[\"./train.sh\",\"--db_password\",\"pw\"],\"cwd\":\"/opt/ml/code\","
            "\"env\":{\"RANK\":\"2\"}}],"
            "\"environment\":{\"SM_HOSTS\":\"[\\\"algo-1\\\",\\\"algo-2\\\"]\","
            "\"SM_HP_DB_PASSWORD\":\"pw\",\"SM_HP_X\":\"a=hunter22=b\",\"SM_HP_A=B\":\"1\"},"
            "\"aliases\":{\"SM_HP_BATCH_SIZE\":\"32\"},\"user_args\":[],\"filled\":[],"
            "\"left_alone\":[],\"warnings\":[\"one GPU stays idle\"]}");
    findings_done(&findings);
    plan_free(plan);
}

static void test_the_first_fatal_finding_is_the_error(void **state)
{
    struct plan *plan = small_plan();
    struct findings findings = {0};
    cJSON *json;
    (void)state;

    findings_fatal(&findings, BLAME_CONFIG, "first");
    findings_fatal(&findings, BLAME_CONFIG, "second");
    strv_add(&plan->not_yet, "third");
    json = plan_json(plan, &findings, NULL);
    assert_string_equal(json_string(json_get(json, "error")), "first");
    assert_string_equal(json_string(cJSON_GetArrayItem(json_get(json, "warnings"), 0)), "third");
    assert_int_equal(cJSON_GetArraySize(json_get(json, "warnings")), 1);
    cJSON_Delete(json);
    findings_done(&findings);
    plan_free(plan);
}

static void test_secrets_are_masked_wherever_they_stand(void **state)
{
    struct plan *plan = small_plan();
    struct findings findings = {0};
    struct redact *redact = redact_new();
    cJSON *json;
    char *text;
    (void)state;

    redact_learn(redact, "hunter22");
    strv_add(&plan->environment, "SM_HP_MAX_TOKEN=512");
    strv_add(&plan->ranks[0].argv, "--max_token");
    strv_add(&plan->ranks[0].argv, "512");
    findings_fatal(&findings, BLAME_CONFIG, "found hunter22");
    json = plan_json(plan, &findings, redact);
    text = cJSON_PrintUnformatted(json);
    assert_null(strstr(text, "hunter22"));
    assert_null(strstr(text, "\"pw\""));
    assert_non_null(strstr(text, "\"SM_HP_MAX_TOKEN\":\"512\""));
    assert_non_null(strstr(text, "\"--max_token\",\"512\""));
    assert_non_null(strstr(text, "\"SM_HP_X\":\"a=" REDACT_MASK "=b\""));
    assert_non_null(strstr(text, "\"--db_password\",\"" REDACT_MASK "\""));
    assert_non_null(strstr(text, "\"SM_HP_DB_PASSWORD\":\"" REDACT_MASK "\""));
    free(text);
    cJSON_Delete(json);
    redact_free(redact);
    findings_done(&findings);
    plan_free(plan);
}

static void test_launch_is_shown_as_one_process(void **state)
{
    struct plan *plan = small_plan();
    struct findings findings = {0};
    cJSON *json;
    (void)state;

    plan->has_launch = true;
    plan->launch.cwd = mem_dup("/opt/ml/code");
    strv_add(&plan->launch.argv, "torchrun");
    json = plan_json(plan, &findings, NULL);
    assert_string_equal(json_string(json_get(json_get(json, "launch"), "cwd")), "/opt/ml/code");
    cJSON_Delete(json);
    plan_free(plan);
}

static void test_a_rank_gets_its_own_values_last(void **state)
{
    struct plan *plan = small_plan();
    auto_strv struct strv container = {0};
    auto_strv struct strv out = {0};
    (void)state;

    strv_add(&container, "PATH=/bin");
    strv_add(&container, "RANK=9");
    strv_add(&container, "SM_HOSTS=old");
    plan_rank_environment(plan, &plan->ranks[0], &container, &out);
    assert_string_equal(strv_env(&out, "PATH"), "/bin");
    assert_string_equal(strv_env(&out, "RANK"), "2");
    assert_string_equal(strv_env(&out, "SM_HOSTS"), "[\"algo-1\",\"algo-2\"]");
    assert_string_equal(strv_env(&out, "SM_HP_BATCH_SIZE"), "32");
    assert_int_equal(out.n, 6);
    plan_free(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranks_of_hosts_follow_each_other),
        cmocka_unit_test(test_json_has_every_member_in_order),
        cmocka_unit_test(test_the_first_fatal_finding_is_the_error),
        cmocka_unit_test(test_secrets_are_masked_wherever_they_stand),
        cmocka_unit_test(test_launch_is_shown_as_one_process),
        cmocka_unit_test(test_a_rank_gets_its_own_values_last),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
