/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "input/tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/files.h"
#include "base/mem.h"

static const char *const names[] = {"hyperparameters.json", "resourceconfig.json",
                                    "inputdataconfig.json"};
static char base[64];
static struct tree tree;
static struct findings findings;

static char *config_path(const char *name)
{
    return mem_printf("%s/input/config/%s", base, name);
}

static void put(const char *name, const char *text, size_t n)
{
    auto_free char *path = config_path(name);

    assert_int_equal(file_write(path, text, n), 0);
}

static void put_text(const char *name, const char *text)
{
    put(name, text, strlen(text));
}

static int begin(void **state)
{
    auto_free char *config = NULL;

    (void)state;
    (void)snprintf(base, sizeof(base), "/tmp/serried-tree-XXXXXX");
    assert_non_null(mkdtemp(base));
    config = config_path("");
    assert_int_equal(folder_make(config), 0);
    for (size_t i = 0; i < LENGTH(names); i++)
        put_text(names[i], "{}");
    return 0;
}

static int end(void **state)
{
    static const char *const below[] = {"input/config", "input", ""};

    (void)state;
    for (size_t i = 0; i < LENGTH(names); i++) {
        auto_free char *path = config_path(names[i]);

        (void)unlink(path);
    }
    for (size_t i = 0; i < LENGTH(below); i++) {
        auto_free char *path = mem_printf("%s/%s", base, below[i]);

        assert_int_equal(rmdir(path), 0);
    }
    tree_done(&tree);
    findings_done(&findings);
    return 0;
}

static const char *error_text(void)
{
    const struct finding *fatal = findings_first_fatal(&findings);

    return fatal ? fatal->text : "";
}

static void assert_names(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("\"%s\" is not in \"%s\"", part, text);
}

static void test_three_files_are_read_with_their_order_kept(void **state)
{
    (void)state;
    put_text("hyperparameters.json", "\xef\xbb\xbf{\"b\": \"1\", \"a\": \"2\", \"b\": \"3\"}");
    tree_read(base, &tree, &findings);
    assert_int_equal(findings.n, 0);
    assert_string_equal(tree.base, base);
    assert_string_equal(tree.hyperparameters->child->string, "b");
    assert_string_equal(json_string(tree.hyperparameters->child), "3");
    assert_true(cJSON_IsObject(tree.resourceconfig) && cJSON_IsObject(tree.inputdataconfig));
}

static void test_only_the_resources_must_be_there(void **state)
{
    (void)state;
    for (size_t i = 0; i < LENGTH(names); i++) {
        auto_free char *path = config_path(names[i]);

        assert_int_equal(unlink(path), 0);
    }
    tree_read(base, &tree, &findings);
    assert_int_equal(findings.n, 3);
    assert_names(error_text(), "/input/config/resourceconfig.json: no such file");
    assert_names(error_text(), "--base");
    assert_false(findings.v[0].fatal || findings.v[2].fatal);
    assert_names(findings.v[0].text, "/input/config/hyperparameters.json");
    assert_names(findings.v[2].text, "/input/config/inputdataconfig.json");
    assert_null(tree.resourceconfig);
}

static void test_a_base_that_is_not_there_is_said_so(void **state)
{
    (void)state;
    tree_read("/nowhere/at/all", &tree, &findings);
    assert_int_equal(findings.n, 1);
    assert_names(error_text(), "/nowhere/at/all: no such folder");
    assert_int_equal(findings.v[0].blame, BLAME_CONFIG);
}

static void test_bad_files_give_one_sentence_with_path_and_place(void **state)
{
    static const struct {
        const char *text;
        size_t n;
        const char *says;
    } cases[] = {
        {"",                  0,  "resourceconfig.json: "                                  },
        {"{\"a\": 1",         7,  "line 1, column 8"                                       },
        {"{\n\"a\": tru}",    11, "line 2, column "                                        },
        {"[1]",               3,  "resourceconfig.json: expected an object, found a list"  },
        {"7",                 1,  "resourceconfig.json: expected an object, found a number"},
        {"{\"a\": \"\xff\"}", 10, "resourceconfig.json: line 1"                            },
        {"{\"a\": 1}\0",      9,  "resourceconfig.json: line 1"                            },
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(cases); i++) {
        put("resourceconfig.json", cases[i].text, cases[i].n);
        tree_done(&tree);
        findings_done(&findings);
        tree_read(base, &tree, &findings);
        assert_int_equal(findings.n, 1);
        assert_names(error_text(), cases[i].says);
        assert_names(error_text(), base);
        assert_null(tree.resourceconfig);
    }
}

static void test_a_fifo_in_place_of_a_file_does_not_hang(void **state)
{
    auto_free char *path = config_path("inputdataconfig.json");

    (void)state;
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    tree_read(base, &tree, &findings);
    assert_names(error_text(), "inputdataconfig.json");
}

static void test_base_is_the_option_then_the_variable_then_the_platform_s(void **state)
{
    auto_strv struct strv container = {0};
    auto_free char *standard = tree_base(NULL, &container);
    auto_free char *variable = NULL;
    auto_free char *option = NULL;
    auto_free char *relative = NULL;
    auto_free char *above = NULL;
    char here[PATH_MAX];

    (void)state;
    strv_add(&container, "SAGEMAKER_BASE_DIR=/opt/./job//");
    variable = tree_base(NULL, &container);
    option = tree_base("/x/", &container);
    relative = tree_base("x", &container);
    assert_string_equal(standard, "/opt/ml");
    assert_string_equal(variable, "/opt/job");
    assert_string_equal(option, "/x");
    assert_int_equal(relative[0], '/');
    assert_string_equal(relative + strlen(relative) - 2, "/x");
    assert_non_null(getcwd(here, sizeof(here)));
    assert_int_equal(chdir("/"), 0);
    above = tree_base("../../x", &container);
    assert_int_equal(chdir(here), 0);
    assert_string_equal(above, "/x");
}

static void test_listing_tells_a_folder_from_what_is_none(void **state)
{
    auto_free char *config = config_path("");
    auto_free char *file = config_path(names[0]);
    auto_strv struct strv found = {0};

    (void)state;
    assert_int_equal(tree_list(config, &found), 0);
    assert_int_equal(found.n, 3);
    assert_string_equal(found.v[0], names[0]);
    assert_int_equal(tree_list(file, &found), -ENOTDIR);
    assert_int_equal(tree_list("/nowhere/at/all", &found), -ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_three_files_are_read_with_their_order_kept, begin,
                                        end),
        cmocka_unit_test_setup_teardown(test_only_the_resources_must_be_there, begin, end),
        cmocka_unit_test_setup_teardown(test_a_base_that_is_not_there_is_said_so, begin, end),
        cmocka_unit_test_setup_teardown(test_bad_files_give_one_sentence_with_path_and_place, begin,
                                        end),
        cmocka_unit_test_setup_teardown(test_a_fifo_in_place_of_a_file_does_not_hang, begin, end),
        cmocka_unit_test_setup_teardown(
            test_base_is_the_option_then_the_variable_then_the_platform_s, begin, end),
        cmocka_unit_test_setup_teardown(test_listing_tells_a_folder_from_what_is_none, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
