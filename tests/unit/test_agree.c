/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "core/agree.h"
#include "made.h"

#define TORCH "\"sagemaker_torch_distributed_enabled\": \"true\""

static cJSON *seen_by(const char *resources, const char *hyper, const char *host)
{
    const struct given g = {.resources = resources, .hyper = hyper, .as_host = host};
    auto_made struct made m = made_new(&g);

    assert_string_equal(made_error(&m), "");
    return agree_make(m.job, m.plan);
}

/* algo-1 leads; "" where the two agree. */
static char *between(cJSON *leaders, cJSON *peers)
{
    char *text = agree_difference(leaders, "algo-1", peers, "algo-2");

    cJSON_Delete(leaders);
    cJSON_Delete(peers);
    return text ? text : mem_dup("");
}

static void test_agree_hosts_of_one_job_see_the_same(void **state)
{
    auto_free char *alike = between(seen_by(TWO_HOSTS, "{" TORCH ", \"lr\": \"0.1\"}", "algo-1"),
                                    seen_by(TWO_HOSTS, "{\"lr\": \"0.1\", " TORCH "}", "algo-2"));

    (void)state;
    assert_string_equal(alike, "");
}

static void test_agree_a_hyperparameter_is_named_and_never_shown(void **state)
{
    auto_free char *other = between(seen_by(TWO_HOSTS, "{\"pass\": \"one\"}", "algo-1"),
                                    seen_by(TWO_HOSTS, "{\"pass\": \"two\"}", "algo-2"));
    auto_free char *missing = between(seen_by(TWO_HOSTS, "{}", "algo-1"),
                                      seen_by(TWO_HOSTS, "{\"pass\": \"two\"}", "algo-2"));

    (void)state;
    assert_string_equal(other, "hyperparameters.json: /pass is another on algo-2 than on algo-1");
    assert_string_equal(missing, "hyperparameters.json: /pass: algo-2 has it, algo-1 has not");
}

static void test_agree_the_order_of_hosts_counts_and_is_shown(void **state)
{
    static const char swapped[] =
        "{\"current_host\": \"algo-2\", \"hosts\": [\"algo-2\", \"algo-1\"]}";
    static const char straight[] =
        "{\"current_host\": \"algo-1\", \"hosts\": [\"algo-1\", \"algo-2\"]}";
    auto_free char *order = between(seen_by(straight, "{}", NULL), seen_by(swapped, "{}", NULL));
    auto_free char *other = between(
        seen_by(straight, "{}", NULL),
        seen_by("{\"current_host\": \"algo-2\", \"hosts\": [\"algo-1\", \"algo-2\", \"algo-3\"]}",
                "{}", NULL));

    (void)state;
    assert_string_equal(
        order, "resourceconfig.json: the leader: \"algo-2\" on algo-2, \"algo-1\" on algo-1");
    assert_string_equal(other, "resourceconfig.json: /hosts: \"algo-1, algo-2, algo-3\" on algo-2, "
                               "\"algo-1, algo-2\" on algo-1");
}

static void test_agree_hosts_outside_and_clusters_of_their_own_may_differ(void **state)
{
    static const char named[] =
        "{" TORCH ", \"sagemaker_distribution_instance_groups\": \"[\\\"b\\\"]\"}";
    auto_free char *outside =
        between(seen_by(TWO_GROUPS, named, "algo-2"), seen_by(TWO_GROUPS, named, "algo-1"));
    auto_free char *clusters = between(seen_by(TWO_GROUPS, "{" TORCH "}", "algo-1"),
                                       seen_by(TWO_GROUPS, "{" TORCH "}", "algo-3"));

    (void)state;
    assert_string_equal(outside, "");
    assert_string_equal(clusters, "");
}

static void test_agree_many_hyperparameters_share_a_digest(void **state)
{
    auto_buf struct buf one = {0};
    auto_buf struct buf two = {0};
    auto_free char *text = NULL;

    (void)state;
    for (int i = 0; i < 400; i++) {
        buf_printf(&one, "%c\"k%d\": \"v\"", i ? ',' : '{', i);
        buf_printf(&two, "%c\"k%d\": \"%s\"", i ? ',' : '{', i, i == 399 ? "w" : "v");
    }
    buf_char(&one, '}');
    buf_char(&two, '}');
    text = between(seen_by(TWO_HOSTS, buf_text(&one), "algo-1"),
                   seen_by(TWO_HOSTS, buf_text(&two), "algo-2"));
    assert_string_equal(text, "hyperparameters.json is another on algo-2 than on algo-1");
}

static void test_agree_long_names_share_a_digest(void **state)
{
    auto_free char *name = mem_zero(40001);
    auto_buf struct buf hyper = {0};
    auto_buf struct buf shown = {0};
    auto_json cJSON *agreed = NULL;

    (void)state;
    memset(name, 'n', 40000);
    buf_printf(&hyper, "{\"%s\": \"v\"}", name);
    agreed = seen_by(TWO_HOSTS, buf_text(&hyper), "algo-1");
    json_write(&shown, agreed);
    assert_true(shown.len < 4096);
    assert_non_null(json_get(agreed, "hyperparameters.json"));
}

static void test_agree_torchrun_and_ranks_of_our_own_do_not_mix(void **state)
{
    const struct given native = {.resources = TWO_HOSTS, .hyper = "{" TORCH "}"};
    const struct given exec = {
        .resources = TWO_HOSTS, .hyper = "{" TORCH "}", .set = "torch.launcher=exec"};
    auto_made struct made one = made_new(&native);
    auto_made struct made two = made_new(&exec);
    auto_free char *text = between(agree_make(one.job, one.plan), agree_make(two.job, two.plan));

    (void)state;
    assert_string_equal(text, "torch.launcher: \"exec\" on algo-2, \"native\" on algo-1");
}

static void test_agree_what_a_stranger_sends_is_a_difference(void **state)
{
    static const char *const trees[] = {"{}",
                                        "[]",
                                        "[[\"a\"]]",
                                        "null",
                                        "{\"a\": {}}",
                                        "{\"resourceconfig.json: /hosts\": [1]}",
                                        "{\"the program\": 3}",
                                        "{\"the program\": \"\"}"};

    (void)state;
    for (size_t i = 0; i < LENGTH(trees); i++) {
        auto_free char *text = between(seen_by(TWO_HOSTS, "{}", "algo-1"), made_tree(trees[i]));

        assert_string_not_equal(text, "");
    }
}

static void test_agree_a_tree_with_too_many_members_is_not_read(void **state)
{
    cJSON *many = cJSON_CreateObject();
    auto_free char *text = NULL;

    (void)state;
    for (int i = 0; i < 2 * AGREE_MAX + 1; i++)
        json_add_string(many, "the launcher", "plain");
    text = between(seen_by(TWO_HOSTS, "{}", "algo-1"), many);
    assert_string_equal(text, "what algo-2 says of the job cannot be read");
}

static void test_agree_sentences_are_short_and_whole_characters(void **state)
{
    auto_free char *name = mem_zero(10001);
    cJSON *peers = seen_by(TWO_HOSTS, "{}", "algo-1");
    auto_free char *text = NULL;

    (void)state;
    for (size_t i = 1; i < 9999; i += 2)
        memcpy(name + i, "\xc3\xa9", 2);
    name[0] = 'x';
    (void)cJSON_ReplaceItemInObjectCaseSensitive(peers, "the program", cJSON_CreateString(name));
    text = between(seen_by(TWO_HOSTS, "{}", "algo-1"), peers);
    assert_true(strlen(text) < 300);
    assert_int_equal(utf8_check(text, strlen(text)), strlen(text));
    assert_non_null(strstr(text, "the program: \"x\xc3\xa9"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_agree_hosts_of_one_job_see_the_same),
        cmocka_unit_test(test_agree_a_hyperparameter_is_named_and_never_shown),
        cmocka_unit_test(test_agree_the_order_of_hosts_counts_and_is_shown),
        cmocka_unit_test(test_agree_hosts_outside_and_clusters_of_their_own_may_differ),
        cmocka_unit_test(test_agree_many_hyperparameters_share_a_digest),
        cmocka_unit_test(test_agree_long_names_share_a_digest),
        cmocka_unit_test(test_agree_torchrun_and_ranks_of_our_own_do_not_mix),
        cmocka_unit_test(test_agree_what_a_stranger_sends_is_a_difference),
        cmocka_unit_test(test_agree_a_tree_with_too_many_members_is_not_read),
        cmocka_unit_test(test_agree_sentences_are_short_and_whole_characters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
