/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "input/facts.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/files.h"
#include "base/mem.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[64];

static int make_root(void **state)
{
    (void)state;
    (void)snprintf(root, sizeof(root), "test-facts-XXXXXX");
    return mkdtemp(root) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st;
    (void)kind;
    (void)at;
    return remove(path);
}

static int drop_root(void **state)
{
    (void)state;
    return nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static char *below(const char *path)
{
    return mem_printf("%s/%s", root, path);
}

static void make_folder(const char *path)
{
    auto_free char *full = below(path);

    assert_int_equal(folder_make(full), 0);
}

static void make_file(const char *path, const char *text)
{
    auto_free char *full = below(path);

    assert_int_equal(file_write(full, text, strlen(text)), 0);
}

static void make_program(const char *path)
{
    auto_free char *full = below(path);

    make_file(path, "#!/bin/false\n");
    assert_int_equal(chmod(full, 0755), 0);
}

static void has_version(const char *python, const char *package, const char *expected)
{
    auto_free char *full = below(python);
    auto_free char *version = facts_package_version(full, package);

    if (expected)
        assert_string_equal(version, expected);
    else
        assert_null(version);
}

static void test_devices_are_counted_by_their_nodes(void **state)
{
    (void)state;
    make_file("nvidia0", "");
    make_file("nvidia1", "");
    make_file("nvidia12", "");
    make_file("nvidiactl", "");
    make_file("nvidia-uvm", "");
    make_file("neuron0", "");
    assert_int_equal(facts_devices(root, "nvidia"), 3);
    assert_int_equal(facts_devices(root, "neuron"), 1);
    assert_int_equal(facts_devices("/no/such/folder", "nvidia"), 0);
}

static void test_a_version_is_read_from_the_metadata_beside_python(void **state)
{
    (void)state;
    make_folder("bin");
    make_program("bin/python3.10");
    make_folder("lib/python3.10/site-packages/torch-2.1.0+cu121.dist-info");
    make_folder("lib/python3.10/site-packages/torchvision-0.16.0.dist-info");
    has_version("bin/python3.10", "torch", "2.1.0+cu121");
    has_version("bin/python3.10", "torch_xla", NULL);
}

static void test_the_packages_of_another_python_do_not_count(void **state)
{
    (void)state;
    make_folder("bin");
    make_program("bin/python3.10");
    make_folder("lib/python3.9/site-packages/torch-1.9.0.dist-info");
    has_version("bin/python3.10", "torch", NULL);
}

static void test_egg_info_as_file_and_with_a_python_version_is_read(void **state)
{
    (void)state;
    make_folder("bin");
    make_program("bin/python3");
    make_folder("lib/python3/dist-packages");
    make_file("lib/python3/dist-packages/torch-1.9.0-py3.8.egg-info", "");
    has_version("bin/python3", "torch", "1.9.0");
}

static void test_a_virtual_environment_comes_before_the_python_it_links_to(void **state)
{
    auto_free char *link = below("venv/bin/python");
    (void)state;

    make_folder("bin");
    make_folder("venv/bin");
    make_program("bin/python3.10");
    assert_int_equal(symlink("../../bin/python3.10", link), 0);
    make_folder("lib/python3.10/site-packages/torch-1.0.0.dist-info");
    has_version("venv/bin/python", "torch", "1.0.0");
    make_folder("venv/lib/python3.10/site-packages/torch-2.0.0.dist-info");
    has_version("venv/bin/python", "torch", "2.0.0");
}

static void test_python_is_found_on_path_and_by_the_setting(void **state)
{
    struct facts facts = {0};
    struct settings settings;
    auto_strv struct strv container = {0};
    (void)state;

    settings_init(&settings);
    strv_addf(&container, "PATH=/no/such/folder:%s/bin", root);
    make_folder("bin");
    make_program("bin/python");
    make_program("bin/pypy");
    make_program("bin/smddprun");
    facts_look(&facts, &container, &settings, "local");
    assert_string_equal(strrchr(facts.python, '/'), "/python");
    assert_true(facts.smddprun);
    assert_false(facts.smddpmprun);
    assert_true(facts.num_cpus >= 1);
    assert_null(facts.python_fault);
    facts_done(&facts);
    assert_int_equal(settings_set(&settings, "python", "pypy", NULL), 0);
    facts_look(&facts, &container, &settings, "ml.trn2.48xlarge");
    assert_string_equal(strrchr(facts.python, '/'), "/pypy");
    assert_int_equal(facts.num_neurons, 64);
    facts_done(&facts);
    settings_done(&settings);
}

static void test_what_the_setting_of_python_names_instead_is_said(void **state)
{
    auto_free char *folder = below("bin");
    auto_free char *file = below("bin/notes");
    auto_free char *nothing = below("bin/nothing");
    const struct {
        const char *setting, *fault;
    } rows[] = {
        {folder,       "which is a folder"       },
        {file,         "which cannot be executed"},
        {nothing,      "which is not there"      },
        {"no-such-py", "which is not on PATH"    },
    };
    auto_strv struct strv container = {0};
    (void)state;

    strv_addf(&container, "PATH=%s", folder);
    make_folder("bin");
    make_file("bin/notes", "");
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct facts facts = {0};
        struct settings settings;

        settings_init(&settings);
        assert_int_equal(settings_set(&settings, "python", rows[i].setting, NULL), 0);
        facts_look(&facts, &container, &settings, "local");
        assert_null(facts.python);
        assert_string_equal(facts.python_fault, rows[i].fault);
        facts_done(&facts);
        settings_done(&settings);
    }
}

static void test_the_room_for_arguments_follows_the_limit_of_the_stack(void **state)
{
    struct facts facts = {0};
    struct settings settings;
    struct rlimit was, low;
    auto_strv struct strv container = {0};
    (void)state;

    assert_int_equal(getrlimit(RLIMIT_STACK, &was), 0);
    low = was;
    low.rlim_cur = 1 << 20;
    assert_int_equal(setrlimit(RLIMIT_STACK, &low), 0);
    settings_init(&settings);
    facts_look(&facts, &container, &settings, "local");
    assert_int_equal(setrlimit(RLIMIT_STACK, &was), 0);
    assert_int_equal(facts.arg_room, (256 - 32) << 10);
    facts_done(&facts);
    settings_done(&settings);
}

static void test_a_file_overlays_what_it_has(void **state)
{
    struct facts facts = {.num_cpus = 2, .torch_version = mem_dup("1.0")};
    auto_free char *path = below("facts.json");
    (void)state;

    strv_add(&facts.interfaces, "eth0");
    make_file("facts.json", "{\"toolkit\": \"base\", \"num_gpus\": 8, \"torch_version\": null,"
                            " \"smddprun_installed\": true, \"python_sys_path\": [\"/a\", \"/b\"],"
                            " \"python_executable\": \"/usr/bin/python3\"}");
    assert_int_equal(facts_read(&facts, path, NULL), 0);
    assert_int_equal(facts.num_cpus, 2);
    assert_int_equal(facts.num_gpus, 8);
    assert_null(facts.torch_version);
    assert_true(facts.smddprun);
    assert_string_equal(facts.python, "/usr/bin/python3");
    assert_int_equal(facts.python_path.n, 2);
    assert_true(facts.given);
    assert_int_equal(facts.interfaces.n, 0);
    facts_done(&facts);
}

static void test_a_wrong_file_is_refused_with_its_place(void **state)
{
    static const struct {
        const char *text, *part;
    } rows[] = {
        {"[]",                               ": expected an object, found a list"           },
        {"{\"num_gpus\": \"8\"}",            ": /num_gpus: expected a whole number from 0"  },
        {"{\"num_gpus\": -1}",               ": /num_gpus: expected a whole number from 0"  },
        {"{\"torch_xla_installed\": 1}",     ": /torch_xla_installed: expected true or fals"},
        {"{\"python_sys_path\": [\"\", 1]}", ": /python_sys_path: expected a list of string"},
        {"{\"bucket_region\": {}}",          ": /bucket_region: expected a string or null, "},
        {"{",                                "facts.json"                                   },
    };
    auto_free char *path = below("facts.json");
    (void)state;

    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct facts facts = {.num_cpus = 1};
        struct err err = ERR_INIT;

        make_file("facts.json", rows[i].text);
        assert_true(facts_read(&facts, path, &err) < 0);
        assert_int_equal(err.blame, BLAME_CONFIG);
        assert_non_null(strstr(err.text, rows[i].part));
        facts_done(&facts);
    }
}

#define WITH_ROOT(test) cmocka_unit_test_setup_teardown(test, make_root, drop_root)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_ROOT(test_devices_are_counted_by_their_nodes),
        WITH_ROOT(test_a_version_is_read_from_the_metadata_beside_python),
        WITH_ROOT(test_the_packages_of_another_python_do_not_count),
        WITH_ROOT(test_egg_info_as_file_and_with_a_python_version_is_read),
        WITH_ROOT(test_a_virtual_environment_comes_before_the_python_it_links_to),
        WITH_ROOT(test_python_is_found_on_path_and_by_the_setting),
        WITH_ROOT(test_what_the_setting_of_python_names_instead_is_said),
        WITH_ROOT(test_the_room_for_arguments_follows_the_limit_of_the_stack),
        WITH_ROOT(test_a_file_overlays_what_it_has),
        WITH_ROOT(test_a_wrong_file_is_refused_with_its_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
