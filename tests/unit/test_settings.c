/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/settings.h"
#include "input/settings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/files.h"
#include "base/json.h"
#include "base/mem.h"

static struct world {
    struct settings settings;
    struct findings findings;
    struct strv container;
    struct strv sets;
    struct tree tree;
    char file[64];
} w;

static int begin(void **state)
{
    (void)state;
    w = (struct world){0};
    strv_add(&w.container, "SERRIED_CONFIG=");
    return 0;
}

static int end(void **state)
{
    (void)state;
    settings_done(&w.settings);
    findings_done(&w.findings);
    strv_done(&w.container);
    strv_done(&w.sets);
    cJSON_Delete(w.tree.hyperparameters);
    if (*w.file)
        unlink(w.file);
    return 0;
}

static void gather(void)
{
    settings_done(&w.settings);
    findings_done(&w.findings);
    settings_gather(&w.settings, &w.tree, &w.container, &w.sets, &w.findings);
}

static void hyperparameters(const char *json)
{
    w.tree.hyperparameters = json_parse(json, strlen(json), NULL);
    assert_non_null(w.tree.hyperparameters);
}

static void config_file(const char *text)
{
    int fd;

    if (!*w.file)
        snprintf(w.file, sizeof(w.file), "/tmp/test_settings.XXXXXX");
    fd = mkstemp(w.file);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(file_write(w.file, text, strlen(text)), 0);
    strv_env_set(&w.container, "SERRIED_CONFIG", w.file);
}

static void assert_get(const char *name, const char *expected)
{
    auto_free char *value = settings_get(&w.settings, name);

    assert_non_null(value);
    assert_string_equal(value, expected);
}

/* One fatal finding of the configuration's, that says `text`. */
static void assert_fatal(const char *text)
{
    assert_int_equal(w.findings.n, 1);
    assert_true(w.findings.v[0].fatal);
    assert_int_equal(w.findings.v[0].blame, BLAME_CONFIG);
    assert_string_equal(w.findings.v[0].text, text);
}

static bool accepts(const char *name, const char *value)
{
    struct err err = ERR_INIT;
    bool taken = !settings_set(&w.settings, name, value, &err);

    assert_true(taken || (err.blame == BLAME_CONFIG && strstr(err.text, name)));
    return taken;
}

static void test_each_row_is_whole_and_its_default_reads_back(void **state)
{
    struct setting_row row;
    size_t i;

    (void)state;
    gather();
    for (i = 0; settings_row(i, &row); i++) {
        assert_string_equal(settings_names()[i], row.name);
        assert_get(row.name, row.standard);
        assert_true(accepts(row.name, row.standard));
        assert_true(*row.type && *row.bounds && *row.sentence);
    }
    assert_null(settings_names()[i]);
    assert_float_equal(w.settings.stop_grace_s, 100, 0);
    assert_int_equal(w.settings.log_line_max, 65536);
    assert_int_equal(w.settings.log_file_max, 268435456);
    assert_string_equal(w.settings.launcher, "");
}

static void test_values_at_the_bounds_are_taken_and_beyond_them_refused(void **state)
{
    static const struct {
        const char *name, *good, *bad;
    } cases[] = {
        {"torch.port",           "1",                      "0"              },
        {"torch.port",           "65535",                  "65536"          },
        {"torch.port",           "+8",                     "8.0"            },
        {"step.install_limit_s", "1",                      "0"              },
        {"rank.early_exit_s",    "0",                      "-1"             },
        {"stop.grace_s",         "0",                      "-0.5"           },
        {"stop.grace_s",         "0.25",                   "1e9"            },
        {"stop.grace_s",         "1e2",                    "inf"            },
        {"stop.grace_s",         "86400",                  "nan"            },
        {"stop.grace_s",         "5",                      "5s"             },
        {"stop.grace_s",         "5",                      ""               },
        {"log.progress_per_s",   "0.1",                    "0.09"           },
        {"log.progress_per_s",   "100",                    "101"            },
        {"log.line_max",         "256",                    "255"            },
        {"log.line_max",         "1 MiB",                  "1048577"        },
        {"log.line_max",         "1024KiB",                "1025KiB"        },
        {"log.file_max",         "0",                      "-1"             },
        {"log.file_max",         "1024 GiB",               "1025 GiB"       },
        {"log.file_max",         "1GiB",                   "1 GB"           },
        {"log.file_max",         "7",                      "MiB"            },
        {"log.file_max",         "1 KiB",                  "99999999999 GiB"},
        {"rank.oversubscribe",   "true",                   "maybe"          },
        {"rank.oversubscribe",   "0",                      ""               },
        {"log.level",            "",                       "debg"           },
        {"log.level",            "warning",                "debug, info"    },
        {"log.format",           "json",                   ""               },
        {"launcher",             "tf-mirrored",            "tf"             },
        {"log.prefix",           "off",                    "none"           },
        {"log.prefix",           "<{host}/{local_rank}> ", "{hots}"         },
        {"log.prefix",           "{rank}{stream}",         "{rank"          },
        {"log.prefix",           "auto",                   "{rank}\n"       },
        {"log.ranks",            "0,2-5",                  "5-2"            },
        {"log.ranks",            "7",                      ""               },
        {"log.ranks",            "all",                    "1,"             },
        {"log.ranks",            "3-3",                    "-3"             },
        {"cgroup.root",          "/x",                     "x"              },
        {"python",               "/opt/conda/bin/python",  "a\tb"           },
    };

    (void)state;
    gather();
    for (size_t i = 0; i < LENGTH(cases); i++) {
        auto_free char *before = NULL;

        if (!accepts(cases[i].name, cases[i].good))
            fail_msg("%s refuses \"%s\"", cases[i].name, cases[i].good);
        before = settings_get(&w.settings, cases[i].name);
        if (accepts(cases[i].name, cases[i].bad))
            fail_msg("%s takes \"%s\"", cases[i].name, cases[i].bad);
        assert_get(cases[i].name, before);
    }
}

static void test_refusal_names_bounds_and_what_was_found(void **state)
{
    struct err err = ERR_INIT;

    (void)state;
    gather();
    settings_set(&w.settings, "stop.grace_s", "abc", &err);
    assert_string_equal(err.text, "stop.grace_s: expected 0 to 86400 seconds, found \"abc\"");
    settings_set(&w.settings, "log.format", "xml", &err);
    assert_string_equal(err.text, "log.format: expected one of text, json, found \"xml\"");
    settings_set(&w.settings, "stop.grace", "1", &err);
    assert_string_equal(err.text, "unknown setting stop.grace (did you mean stop.grace_s?)");
    settings_set(&w.settings, "stop_grace_s", "1", &err);
    assert_string_equal(err.text, "unknown setting stop_grace_s (did you mean stop.grace_s?)");
    settings_set(&w.settings, "zebra", "1", &err);
    assert_string_equal(err.text, "unknown setting zebra");
}

static void test_later_sources_win(void **state)
{
    (void)state;
    config_file("{\"stop.grace_s\": 1, \"torch.port\": 1111, \"log.format\": \"json\","
                " \"rank.oversubscribe\": true}");
    strv_add(&w.container, "SERRIED_STOP_GRACE_S=2");
    strv_add(&w.container, "SERRIED_TORCH_PORT=2222");
    strv_add(&w.container, "SERRIED_LOG_RANKS=1");
    hyperparameters("{\"serried_stop_grace_s\": \"3\", \"serried_log_ranks\": \"\\\"0-1\\\"\"}");
    strv_add(&w.sets, "stop.grace_s=4");
    gather();
    assert_int_equal(w.findings.n, 0);
    assert_get("stop.grace_s", "4");
    assert_get("log.ranks", "0-1");
    assert_get("torch.port", "2222");
    assert_get("log.format", "json");
    assert_get("rank.oversubscribe", "true");
}

static void test_hyperparameters_are_taken_in_any_json_form(void **state)
{
    (void)state;
    hyperparameters("{\"serried_rank_early_exit_s\": 5, \"serried_rank_early_exit_fails\": true,"
                    " \"serried_stop_drain_s\": \"1.5\", \"serried_log_format\": \"json\","
                    " \"serried_log_file_max\": \"\\\"1 MiB\\\"\", \"batch\": [1]}");
    gather();
    assert_int_equal(w.findings.n, 0);
    assert_get("rank.early_exit_s", "5");
    assert_get("rank.early_exit_fails", "true");
    assert_get("stop.drain_s", "1.5");
    assert_get("log.format", "json");
    assert_get("log.file_max", "1 MiB");
}

static void test_every_setting_has_its_own_variable_and_hyperparameter(void **state)
{
    auto_buf struct buf json = {0};
    struct setting_row row;

    (void)state;
    for (size_t i = 0; settings_row(i, &row); i++) {
        auto_free char *flat = mem_dup(row.name);

        for (char *at = flat; *at; at++)
            if (*at == '.')
                *at = '_';
        buf_printf(&json, "%s\"serried_%s\": \"%s\"", i ? ", " : "{", flat, row.standard);
        for (char *at = flat; *at; at++)
            *at = (char)toupper((unsigned char)*at);
        strv_addf(&w.container, "SERRIED_%s=%s", flat, row.standard);
    }
    buf_str(&json, "}");
    hyperparameters(buf_text(&json));
    gather();
    assert_int_equal(w.findings.n, 0);
}

static void test_bad_values_name_their_source(void **state)
{
    (void)state;
    strv_add(&w.container, "SERRIED_STOP_GRACE_S=-5");
    gather();
    assert_fatal("variable SERRIED_STOP_GRACE_S: stop.grace_s: expected 0 to 86400 seconds, found "
                 "\"-5\"");
    strv_env_unset(&w.container, "SERRIED_STOP_GRACE_S");
    strv_add(&w.sets, "torch.port=x");
    gather();
    assert_fatal("--set: torch.port: expected 1 to 65535, found \"x\"");
    strv_done(&w.sets);
    strv_add(&w.sets, "torch.port");
    gather();
    assert_fatal("--set torch.port: expected NAME=VALUE");
    strv_done(&w.sets);
    strv_add(&w.sets, "=5");
    gather();
    assert_fatal("--set =5: expected NAME=VALUE");
    strv_done(&w.sets);
    strv_add(&w.sets, "");
    gather();
    assert_fatal("--set \"\": expected NAME=VALUE");
    strv_done(&w.sets);
    hyperparameters("{\"serried_torch_port\": \"[7]\"}");
    gather();
    assert_fatal("hyperparameter serried_torch_port: torch.port: expected a string, a number, true "
                 "or false, found a list");
}

static void test_unknown_names_are_refused_but_for_variables(void **state)
{
    (void)state;
    hyperparameters("{\"serried_stop_grace\": \"3\"}");
    gather();
    assert_fatal("hyperparameter serried_stop_grace: unknown setting (did you mean "
                 "serried_stop_grace_s?)");
    json_cleanup(&w.tree.hyperparameters);
    w.tree.hyperparameters = NULL;
    strv_add(&w.sets, "log.rank=1");
    gather();
    assert_fatal("--set: unknown setting log.rank (did you mean log.ranks?)");
    strv_done(&w.sets);
    strv_add(&w.container, "SERRIED_SOCKET=/run/x");
    strv_add(&w.container, "SERRIED_JOB_KEY=abc");
    strv_add(&w.container, "SERRIED_STOP_GRACES=3");
    gather();
    assert_int_equal(w.findings.n, 1);
    assert_false(w.findings.v[0].fatal);
    assert_string_equal(w.findings.v[0].text,
                        "variable SERRIED_STOP_GRACES is no setting and is left alone (did you "
                        "mean SERRIED_STOP_GRACE_S?)");
}

static void test_file_may_have_comments(void **state)
{
    (void)state;
    config_file("// first\n{ /* \"torch.port\": 1, */ \"cgroup.root\": \"/a//b/*c*/\", // last\n"
                "  \"python\": \"/x\\\"//\" /**/ }\n//");
    gather();
    assert_int_equal(w.findings.n, 0);
    assert_get("cgroup.root", "/a//b/*c*/");
    assert_get("python", "/x\"//");
    assert_get("torch.port", "7777");
}

static void test_bad_files_are_fatal_and_name_the_place(void **state)
{
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"{}\n/* ",                    "a comment has no end"                                },
        {"[1]",                        "expected an object, found a list"                    },
        {"{\"torch.prt\": 1}",         "unknown setting torch.prt (did you mean torch.port?)"},
        {"{\"torch\": {\"port\": 1}}",
         "torch: expected a string, a number, true or false, found an object"                },
        {"{\"torch.port\": 0}",        "torch.port: expected 1 to 65535, found \"0\""        },
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(cases); i++) {
        auto_free char *text = NULL;

        config_file(cases[i].text);
        text = mem_printf("%s: %s", w.file, cases[i].expected);
        gather();
        assert_fatal(text);
        unlink(w.file);
        *w.file = '\0';
    }
    config_file("/* one\n two */\n{\"torch.port\" 1}");
    gather();
    assert_int_equal(w.findings.n, 1);
    assert_non_null(strstr(w.findings.v[0].text, w.file));
    assert_non_null(strstr(w.findings.v[0].text, "line 3"));
}

static void test_named_file_must_be_there(void **state)
{
    (void)state;
    strv_env_set(&w.container, "SERRIED_CONFIG", "/nonexistent/serried.json");
    gather();
    assert_int_equal(w.findings.n, 1);
    assert_true(w.findings.v[0].fatal);
    assert_non_null(strstr(w.findings.v[0].text, "/nonexistent/serried.json"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_each_row_is_whole_and_its_default_reads_back),
        TEST(test_values_at_the_bounds_are_taken_and_beyond_them_refused),
        TEST(test_refusal_names_bounds_and_what_was_found),
        TEST(test_later_sources_win),
        TEST(test_hyperparameters_are_taken_in_any_json_form),
        TEST(test_every_setting_has_its_own_variable_and_hyperparameter),
        TEST(test_bad_values_name_their_source),
        TEST(test_unknown_names_are_refused_but_for_variables),
        TEST(test_file_may_have_comments),
        TEST(test_bad_files_are_fatal_and_name_the_place),
        TEST(test_named_file_must_be_there),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
