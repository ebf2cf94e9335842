/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/redact.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/mem.h"
#include "core/job.h"

static struct redact *r;
static struct job job;

static int begin(void **state)
{
    (void)state;
    job = (struct job){0};
    r = redact_new();
    return 0;
}

static int end(void **state)
{
    (void)state;
    redact_free(r);
    strv_done(&job.container);
    cJSON_Delete(job.hyperparameters);
    return 0;
}

static void hyperparameters(const char *json)
{
    job.hyperparameters = json_parse(json, strlen(json), NULL);
    assert_non_null(job.hyperparameters);
}

static void assert_text(const char *text, const char *expected)
{
    auto_free char *masked = redact_text(r, text);

    assert_string_equal(masked, expected);
}

static void assert_kept(const char *text)
{
    assert_text(text, text);
}

static void test_names_of_secrets(void **state)
{
    static const char *const secret[] = {
        "PASSWORD",
        "db_password",
        "DBPASSWORD",
        "--db-password",
        "MYSQL_ROOT_PASSWD",
        "DB_PWD",
        "HF_TOKEN",
        "hfToken",
        "API_KEY",
        "apiKey",
        "APIKey",
        "AWS_SECRET_ACCESS_KEY",
        "access_key",
        "AWS_SESSION_TOKEN",
        "client.auth",
        "GIT_CREDENTIALS",
        "creds",
        "PRIVATE_KEY",
        "AWS_ACCESS_KEY_ID",
        "my-secret",
        "SM_HP_TOKEN",
        "SERRIED_JOB_KEY",
        "X-Amz-Signature",
        "key",
        "hftoken",
        "MYTOKEN",
        "pgpass",
        "sshkey",
        "dbpassword",
        "gitlabToken",
        "session_cookie",
        "cookie",
        "PASSCODE",
        "ssl_passphrase",
        "bearer",
        "db_pass",
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(secret); i++) {
        if (!redact_is_secret_name(secret[i]))
            fail_msg("%s", secret[i]);
    }
}

static void test_names_that_only_look_like_it(void **state)
{
    static const char *const open[] = {
        "MONKEY",
        "KEYBOARD",
        "keyboard_layout",
        "peer.key_file",
        "max_tokens",
        "tokenizer",
        "num_tokens",
        "author",
        "PWD",
        "OLDPWD",
        "PATH",
        "tokenizerName",
        "compass",
        "monkey_business",
        "AWS_WEB_IDENTITY_TOKEN_FILE",
        "SM_CHANNEL",
        "",
        "keys",
        "patience",
        "passes",
        "tokenizer_name",
        "pad_token",
        "eos_token",
        "bosToken",
        "unk_token",
        "sep_token",
        "cls_token",
        "mask_token",
        "additional_special_tokens",
        "key_column",
        "sort_key",
        "primary_key",
        "num_key_value_heads",
        "keyword",
        "monkey",
        "turkey",
        "bypass",
        "lowpass",
        "forwardpass",
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(open); i++) {
        if (redact_is_secret_name(open[i]))
            fail_msg("%s", open[i]);
    }
}

static void test_numbers_and_switches_are_secret_under_strong_names_only(void **state)
{
    (void)state;
    assert_false(redact_is_secret("max_token", "512"));
    assert_false(redact_is_secret("use_auth", "True"));
    assert_false(redact_is_secret("password", ""));
    assert_true(redact_is_secret("password", "1234"));
    assert_true(redact_is_secret("API_KEY", "123456789012"));
    assert_true(redact_is_secret("API_KEY", "ab"));
}

static void test_plurals_are_secret_if_they_are_texts(void **state)
{
    (void)state;
    assert_true(redact_is_secret("api_tokens", "tok-1"));
    assert_true(redact_is_secret("TOKENS", "[\"tok-1\", \"tok-2\"]"));
    assert_true(redact_is_secret("hftokens", "tok-1"));
    assert_false(redact_is_secret("max_tokens", "512"));
    assert_false(redact_is_secret("num_tokens", "1000000000000"));
    assert_false(redact_is_secret("suppress_ids_tokens", "[1, 50256]"));
    hyperparameters("{\"api_tokens\":[\"tok-111\",\"tok-222\"],\"stop_tokens\":[\"<|end|>\"],"
                    "\"skip_tokens\":[123456789012]}");
    redact_learn_job(r, &job);
    assert_text("tok-111 tok-222 <|end|> 123456789012", "****** ****** <|end|> 123456789012");
}

static void test_learned_texts_are_masked_wherever_they_stand(void **state)
{
    (void)state;
    redact_learn(r, "pw-111");
    redact_learn(r, "pw-1112");
    redact_learn(r, "pw-0");
    assert_text("a pw-111 b", "a ****** b");
    assert_text("pw-1112pw-111", "************");
    assert_text("pw-0", "******");
    assert_kept("pw-11");
    assert_kept("");
}

static void test_short_or_plain_texts_are_not_learned(void **state)
{
    (void)state;
    redact_learn(r, "abc");
    redact_learn(r, "7777");
    redact_learn(r, "");
    strv_add(&job.container, "SORT_KEY=name");
    strv_add(&job.container, "PASSWORD=magic");
    redact_learn_job(r, &job);
    assert_text("abc name 7777 magic", "abc name 7777 ******");
}

static void test_forms_inside_json_and_shell_words_are_masked(void **state)
{
    (void)state;
    redact_learn(r, "a\"b'c\\d\xc3\xa9");
    assert_text("{\"x\":\"a\\\"b'c\\\\d\\u00e9\"}", "{\"x\":\"******\"}");
    assert_text("x='a\"b'\\''c\\d\xc3\xa9'", "x='******'");
    redact_learn(r, "line 1\nit's \"2\"");
    assert_text("['line 1\\nit\\'s \"2\"']", "['******']");
    assert_text("\"[\\\"line 1\\\\nit's \\\\\\\"2\\\\\\\"\\\"]\"", "\"[\\\"******\\\"]\"");
    assert_text("{\"x\":\"['line 1\\\\nit\\\\'s \\\"2\\\"']\"}", "{\"x\":\"['******']\"}");
    redact_learn(r, "bytes\xff\xfe");
    assert_text("<bytes\xff\xfe>", "<******>");
}

static void test_value_next_to_a_secret_name_is_masked_however_short(void **state)
{
    (void)state;
    assert_text("--db_password=ab c", "--db_password=****** c");
    assert_text("-x API_KEY=k,B=2", "-x API_KEY=******,B=2");
    assert_text("PASSWORD='a b' x", "PASSWORD='******' x");
    assert_text("{\"pin_password\":\"ab\",\"n\":1}", "{\"pin_password\":\"******\",\"n\":1}");
    assert_text("{\"password\": 12, \"n\": 1}", "{\"password\": ******, \"n\": 1}");
    assert_text("{'token': 'ab'}", "{'token': '******'}");
    assert_text("{\"token\":\"a\\\"b\",\"x\":1}", "{\"token\":\"******\",\"x\":1}");
    assert_text("[\"--token\",\"a b\",\"-v\"]", "[\"--token\",\"******\",\"-v\"]");
    assert_kept("[\"token\",\"a b\"]");
    assert_text("https://h/x?X-Amz-Security-Token=ab&v=1",
                "https://h/x?X-Amz-Security-Token=******&v=1");
    assert_text("password=\"open", "password=\"******");
    assert_kept("max_token=512 PWD=/x a=b key= {\"key\" : {}}");
    assert_kept("unknown key: foo");
    assert_kept("=");
    assert_kept(":");
}

static void test_secrets_within_text_are_known_by_what_is_in_front(void **state)
{
    (void)state;
    assert_text("-H \"Authorization: Bearer ab.12\" x", "-H \"Authorization: Bearer ******\" x");
    assert_text("authorization: basic QWxhZGRpbg==", "authorization: basic ******");
    assert_text("use Bearer abcDEF123456, please", "use Bearer ******, please");
    assert_text("run --token abc --lr 1", "run --token ****** --lr 1");
    assert_text("--api-key 'a b' -v", "--api-key '******' -v");
    assert_text("user: me\npassword: hunter\n", "user: me\npassword: ******\n");
    assert_text("password:hunter", "password:******");
    assert_text("[login] token: a1B2c3D4e5", "[login] token: ******");
    assert_text("https://h/x?v=1&token=abc&sig=d%2Fe#f", "https://h/x?v=1&token=******&sig=******");
    assert_kept("unexpected token: foo");
    assert_kept("the bearer of certificates");
    assert_kept("--max_token 512 --tokenizer bert --pad_token </s> --key -v");
    assert_kept("arn:aws:secretsmanager:us-east-1:1234");
    assert_kept("hyperparameters.json: /db_password: expected a string");
    assert_kept("tokens: 12345678 and keys: none, author: Me2Myself");
    assert_kept("a - b -- c - ");
    assert_kept("-");
}

static void test_secrets_within_text_are_known_by_their_look(void **state)
{
    static const char *const shapes[] = {
        "hf_abcdefghijklmnopqrstuvwx",
        "AKIAIOSFODNN7EXAMPLE",
        "ASIAIOSFODNN7EXAMPLE",
        "ghp_abcdefghijklmnopqrstuvwx1234",
        "github_pat_11ABCDEFG0123456789_abcdef",
        "sk-abcdefghijklmnopqrstuv",
        "sk-proj-abc_def-ghi_jkl-mno_pqr",
        "xoxb-1234567890-abc",
        "xoxp-1234567890",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dozjgNryP4J3jVmNHl0w"};

    (void)state;
    for (size_t i = 0; i < LENGTH(shapes); i++) {
        auto_free char *text = mem_printf("x=1 (%s), y", shapes[i]);

        assert_text(text, "x=1 (******), y");
    }
    assert_kept("hf_transfer hf_hub_download AKIA sk-learn task-abcdefghijklmnopqrstuvwxyz");
    assert_kept("scikit-learn xoxb eyJ xhf_abcdefghijklmnopqrstuvwx");
}

static void test_urls_lose_what_stands_before_the_at_sign(void **state)
{
    (void)state;
    assert_text("see https://user:pw-444@host/x@y", "see https://******@host/x@y");
    assert_text("https://ghp_abc@github.com", "https://******@github.com");
    assert_text("http://a:b@c@host", "http://******@host");
    assert_kept("https://host/a@b");
    assert_kept("https://host?mail=a@b.c");
    assert_kept("https://@host");
    assert_kept("://");
}

static void test_secrets_of_the_environment_are_learned(void **state)
{
    (void)state;
    strv_add(&job.container, "HF_TOKEN=tok-222");
    strv_add(&job.container, "INDEX=https://user:pw-444@host/x");
    strv_add(&job.container, "OPTIONS=-x API_KEY=key-333 -v");
    strv_add(&job.container, "JSON={\"a\":[{\"token\":\"tok-555\"}]}");
    strv_add(&job.container, "PWD=/home/me");
    strv_add(&job.container, "NOTHING");
    redact_learn_job(r, &job);
    assert_text("tok-222 pw-444 key-333 tok-555 /home/me", "****** ****** ****** ****** /home/me");
}

static void test_secrets_of_hyperparameters_are_learned_at_any_depth(void **state)
{
    (void)state;
    hyperparameters("{\"db_password\":\"pw-111\",\"o\":{\"l\":[{\"apiKey\":\"key-333\"}]},"
                    "\"passwords\":[\"pw-1\",{\"x\":\"pw-2\"}],\"secret\":12345678,"
                    "\"max_tokens\":512000000,\"url\":\"s3://a:pw-4@b\","
                    "\"sagemaker_mpi_custom_mpi_options\":\"-x API_KEY=key-4\"}");
    redact_learn_job(r, &job);
    assert_text("pw-111 key-333 pw-1 pw-2 12345678 pw-4 key-4 512000000",
                "****** ****** ****** ****** ****** ****** ****** 512000000");
}

static void test_value_is_masked_whole_by_its_name(void **state)
{
    auto_free char *whole = redact_value(r, "HF_TOKEN", "a");
    auto_free char *parts = redact_value(r, "X", "https://u:p@h");
    auto_free char *open = redact_value(NULL, "HF_TOKEN", "a");

    (void)state;
    assert_string_equal(whole, REDACT_MASK);
    assert_string_equal(parts, "https://******@h");
    assert_string_equal(open, "a");
}

static void test_what_only_begins_like_a_secret_takes_no_time(void **state)
{
    static const char *const parts[] = {
        "token:", "key=1",     "--token ",  "bearer ", "eyJ.",
        "sk-",    "tokens=1=", "\"key\":1", "-",       "password: none "};

    (void)state;
    for (size_t i = 0; i < LENGTH(parts); i++) {
        auto_buf struct buf text = {0};
        auto_free char *masked = NULL;

        while (text.len < 1000000)
            buf_str(&text, parts[i]);
        masked = redact_text(r, buf_text(&text));
        assert_non_null(masked);
    }
}

static void test_many_secrets_and_a_long_text_are_no_trouble(void **state)
{
    auto_buf struct buf text = {0};
    auto_free char *masked = NULL;

    (void)state;
    for (unsigned i = 0; i < 3000; i++) {
        auto_free char *secret = mem_printf("s%u-secret", i);

        redact_learn(r, secret);
    }
    for (unsigned i = 0; i < 50000; i++)
        buf_str(&text, "key=s12-secre ");
    buf_str(&text, "s2999-secret");
    masked = redact_text(r, buf_text(&text));
    assert_null(strstr(masked, "s2999"));
    assert_null(strstr(masked, "s12"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_names_of_secrets),
        TEST(test_names_that_only_look_like_it),
        TEST(test_numbers_and_switches_are_secret_under_strong_names_only),
        TEST(test_plurals_are_secret_if_they_are_texts),
        TEST(test_learned_texts_are_masked_wherever_they_stand),
        TEST(test_short_or_plain_texts_are_not_learned),
        TEST(test_forms_inside_json_and_shell_words_are_masked),
        TEST(test_value_next_to_a_secret_name_is_masked_however_short),
        TEST(test_secrets_within_text_are_known_by_what_is_in_front),
        TEST(test_secrets_within_text_are_known_by_their_look),
        TEST(test_what_only_begins_like_a_secret_takes_no_time),
        TEST(test_urls_lose_what_stands_before_the_at_sign),
        TEST(test_secrets_of_the_environment_are_learned),
        TEST(test_secrets_of_hyperparameters_are_learned_at_any_depth),
        TEST(test_value_is_masked_whole_by_its_name),
        TEST(test_many_secrets_and_a_long_text_are_no_trouble),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
