/* SPDX-License-Identifier: Apache-2.0
 *
 * What an emulation puts on the disk: bases, copies, its own folder; and how it shows the hosts'
 * lines. */
#include "config.h"

#include "emulator/tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/files.h"
#include "base/json.h"
#include "base/mem.h"
#include "emulator/folders.h"
#include "emulator/logs.h"
#include "emulator/state.h"

static char top[64];
static struct tree_hosts hosts;
static struct err err;

static char *at(const char *name)
{
    return path_join(top, name);
}

static void put(const char *name, const char *text)
{
    auto_free char *path = at(name);
    auto_free char *folder = path_parent(path);

    assert_int_equal(folder_make(folder), 0);
    assert_int_equal(file_write(path, text, strlen(text)), 0);
}

static void expect_file(const char *name, const char *text)
{
    auto_free char *path = at(name);
    auto_free char *found = file_read(path, 65536, NULL, &err);

    if (!found)
        fail_msg("%s", err.text);
    assert_string_equal(found, text);
}

static bool is_there(const char *name)
{
    auto_free char *path = at(name);
    struct stat st;

    return lstat(path, &st) == 0;
}

static int begin(void **state)
{
    (void)state;
    (void)snprintf(top, sizeof(top), "/tmp/serried-emulation-XXXXXX");
    assert_non_null(mkdtemp(top));
    err = (struct err)ERR_INIT;
    return 0;
}

static int end(void **state)
{
    (void)state;
    tree_hosts_done(&hosts);
    assert_int_equal(folders_remove(top), 0);
    assert_false(file_exists(top));
    return 0;
}

static void expect_names(const char *text)
{
    auto_free char *found = strv_join(&hosts.names, " ");

    assert_string_equal(found, text);
    assert_int_equal(hosts.bases.n, hosts.names.n);
}

static void test_tree_hosts_are_sorted_as_text(void **state)
{
    const struct tree_group group = {"homogeneousCluster", "local", 12};
    struct tree_spec spec = {.folder = top, .groups = &group, .n_groups = 1};

    (void)state;
    tree_plan(&spec, &hosts);
    expect_names("algo-1 algo-10 algo-11 algo-12 algo-2 algo-3 algo-4 algo-5 algo-6 algo-7 algo-8 "
                 "algo-9");
}

static void test_tree_is_what_the_platform_makes(void **state)
{
    const struct tree_group groups[] = {
        {"cpu", "ml.c5.xlarge",    1},
        {"gpu", "ml.p4d.24xlarge", 2}
    };
    auto_json cJSON *hyper = cJSON_CreateObject();
    auto_strv struct strv channels = {0};
    auto_free char *source = at("source");
    auto_free char *folder = at("run");
    struct tree_spec spec = {folder, groups, LENGTH(groups), source, &channels, hyper};

    (void)state;
    json_add_string(hyper, "epochs", "3");
    put("source/train.py", "pass\n");
    put("source/package/part.py", "pass\n");
    put("data/one.txt", "1");
    strv_addf(&channels, "training=%s/data", top);
    tree_plan(&spec, &hosts);
    assert_int_equal(tree_make(&spec, &hosts, &err), 0);
    assert_int_equal(tree_configure(&spec, &hosts, "eth0", &err), 0);
    expect_file("run/algo-3/code/package/part.py", "pass\n");
    expect_file("run/algo-3/input/data/training/one.txt", "1");
    expect_file("run/algo-3/input/config/hyperparameters.json", "{\"epochs\": \"3\"}");
    expect_file("run/algo-3/input/config/inputdataconfig.json",
                "{\"training\": {\"TrainingInputMode\": \"File\", \"S3DistributionType\": "
                "\"FullyReplicated\", \"RecordWrapperType\": \"None\"}}");
    expect_file("run/algo-3/input/config/resourceconfig.json",
                "{\"current_host\": \"algo-3\", \"current_instance_type\": \"ml.p4d.24xlarge\", "
                "\"current_group_name\": \"gpu\", \"hosts\": [\"algo-1\", \"algo-2\", \"algo-3\"], "
                "\"instance_groups\": [{\"instance_group_name\": \"cpu\", \"instance_type\": "
                "\"ml.c5.xlarge\", \"hosts\": [\"algo-1\"]}, {\"instance_group_name\": \"gpu\", "
                "\"instance_type\": \"ml.p4d.24xlarge\", \"hosts\": [\"algo-2\", \"algo-3\"]}], "
                "\"network_interface_name\": \"eth0\", \"topology\": null}");
    assert_true(is_there("run/algo-1/model") && is_there("run/algo-1/output/data"));
    assert_false(is_there("run/algo-1/output/failure"));
}

static void test_tree_source_may_be_one_file(void **state)
{
    const struct tree_group group = {"homogeneousCluster", "local", 2};
    auto_strv struct strv channels = {0};
    auto_free char *source = at("train.py");
    auto_free char *folder = at("run");
    struct tree_spec spec = {folder, &group, 1, source, &channels, NULL};

    (void)state;
    put("train.py", "pass\n");
    tree_plan(&spec, &hosts);
    assert_int_equal(tree_make(&spec, &hosts, &err), 0);
    expect_file("run/algo-2/code/train.py", "pass\n");
}

static void test_tree_a_copy_never_holds_itself(void **state)
{
    const struct tree_group group = {"homogeneousCluster", "local", 2};
    auto_strv struct strv channels = {0};
    auto_free char *folder = at("run");
    struct tree_spec spec = {folder, &group, 1, top, &channels, NULL};

    (void)state;
    put("train.py", "pass\n");
    put("run/lock", "");
    tree_plan(&spec, &hosts);
    assert_int_equal(tree_make(&spec, &hosts, &err), 0);
    expect_file("run/algo-2/code/train.py", "pass\n");
    assert_false(is_there("run/algo-2/code/run"));
}

static void test_tree_ready_bases_are_in_the_order_of_the_job(void **state)
{
    static const char list[] = "{\"hosts\": [\"b\", \"nowhere\", \"a\", \"b\", 3]}";

    (void)state;
    put("a/input/config/resourceconfig.json", list);
    put("b/input/config/resourceconfig.json", "{}");
    put("c/input/config/resourceconfig.json", "{}");
    put("d/other", "");
    assert_int_equal(tree_find(top, &hosts, &err), 0);
    expect_names("b a c");
}

static void test_tree_ready_bases_without_a_list(void **state)
{
    (void)state;
    put("a/input/config/resourceconfig.json", "not JSON");
    put("b/input/config/resourceconfig.json", "{}");
    assert_int_equal(tree_find(top, &hosts, &err), 0);
    expect_names("a b");
}

static void test_tree_without_bases(void **state)
{
    auto_free char *missing = at("missing");

    (void)state;
    assert_true(tree_find(top, &hosts, &err) < 0);
    assert_int_equal(err.blame, BLAME_CONFIG);
    assert_true(tree_find(missing, &hosts, &err) < 0);
    put("not a host/input/config/resourceconfig.json", "{}");
    assert_true(tree_find(top, &hosts, &err) < 0);
    assert_non_null(strstr(err.text, "no name of a host"));
}

static void test_folders_links_and_modes_are_kept(void **state)
{
    struct folders_bound bound = {100, 1 << 20};
    auto_free char *from = at("from");
    auto_free char *to = at("to");
    auto_free char *script = at("from/run.sh");
    auto_free char *link = at("from/link");
    auto_free char *loop = at("from/up");
    auto_free char *pipe = at("from/pipe");
    auto_free char *copy = at("to/run.sh");
    auto_free char *copied_link = at("to/link");
    char target[64] = {0};
    struct stat st, before;

    (void)state;
    put("from/run.sh", "#!/bin/sh\n");
    assert_int_equal(chmod(script, 0750), 0);
    assert_int_equal(symlink("/does/not/exist", link), 0);
    assert_int_equal(symlink("..", loop), 0);
    assert_int_equal(mkfifo(pipe, 0600), 0);
    assert_int_equal(folder_make(to), 0);
    assert_int_equal(folders_copy(from, to, NULL, &bound, &err), 0);
    assert_int_equal(stat(copy, &st), 0);
    assert_int_equal(stat(script, &before), 0);
    assert_int_equal(st.st_mode & 07777, 0750);
    assert_int_equal(st.st_mtim.tv_sec, before.st_mtim.tv_sec);
    assert_true(readlink(copied_link, target, sizeof(target) - 1) > 0);
    assert_string_equal(target, "/does/not/exist");
    assert_false(is_there("to/pipe"));
}

static void test_folders_copies_are_bounded(void **state)
{
    struct folders_bound few = {2, 1 << 20}, small = {100, 3};
    auto_free char *from = at("from");
    auto_free char *to = at("to");

    (void)state;
    put("from/1", "12");
    put("from/2", "12");
    put("from/3", "12");
    assert_int_equal(folder_make(to), 0);
    assert_true(folders_copy(from, to, NULL, &few, &err) < 0);
    assert_non_null(strstr(err.text, "too many files"));
    assert_int_equal(folders_remove(to), 0);
    assert_int_equal(folder_make(to), 0);
    assert_true(folders_copy(from, to, NULL, &small, &err) < 0);
    assert_non_null(strstr(err.text, "too many bytes"));
}

static void test_folders_remove_does_not_follow_links(void **state)
{
    auto_free char *gone = at("gone");
    auto_free char *inner = at("gone/inner");
    auto_free char *link = at("gone/link");
    auto_free char *kept = at("kept");

    (void)state;
    put("kept/file", "x");
    put("gone/inner/file", "x");
    assert_int_equal(symlink(kept, link), 0);
    assert_int_equal(chmod(inner, 0), 0);
    assert_int_equal(folders_remove(gone), 0);
    assert_false(is_there("gone"));
    expect_file("kept/file", "x");
    assert_int_equal(folders_remove(gone), 0);
}

static void test_state_is_removed_at_the_end_and_kept_if_asked(void **state)
{
    auto_free char *path = at("state");
    struct state s = {.lock = -1};

    (void)state;
    assert_int_equal(state_open(&s, path, false, &err), 0);
    put("state/algo-1/file", "x");
    assert_int_equal(state_close(&s), 0);
    assert_false(is_there("state"));
    assert_int_equal(state_open(&s, path, true, &err), 0);
    put("state/algo-1/file", "x");
    assert_int_equal(state_close(&s), 0);
    expect_file("state/algo-1/file", "x");
    assert_true(state_open(&s, path, false, &err) < 0);
    assert_int_equal(err.blame, BLAME_USER);
    assert_int_equal(state_close(&s), 0);
    expect_file("state/algo-1/file", "x");
}

static void test_state_of_the_caller_is_only_emptied(void **state)
{
    auto_free char *path = at("state");
    struct state s = {.lock = -1};

    (void)state;
    assert_int_equal(folder_make(path), 0);
    assert_int_equal(state_open(&s, path, false, &err), 0);
    put("state/algo-1/file", "x");
    assert_int_equal(state_close(&s), 0);
    assert_true(is_there("state"));
    assert_false(is_there("state/algo-1"));
    assert_false(is_there("state/lock"));
}

static void test_state_in_use_is_left_alone(void **state)
{
    auto_free char *path = at("state");
    struct state s = {.lock = -1}, other = {.lock = -1};

    (void)state;
    assert_int_equal(state_open(&s, path, false, &err), 0);
    assert_true(state_open(&other, path, false, &err) < 0);
    assert_non_null(strstr(err.text, "an emulation runs there"));
    assert_true(is_there("state/lock"));
    assert_int_equal(state_close(&s), 0);
}

static void test_state_of_a_dead_one_is_swept(void **state)
{
    struct state s = {.lock = -1};

    (void)state;
    assert_int_equal(setenv("TMPDIR", top, 1), 0);
    put("serry-emulate-dead00/lock", "");
    put("serry-emulate-dead00/algo-1/file", "x");
    put("serry-emulate-kept00/algo-1/file", "x");
    put("serry-other/lock", "");
    assert_int_equal(state_open(&s, NULL, false, &err), 0);
    assert_int_equal(strncmp(s.path, top, strlen(top)), 0);
    assert_false(is_there("serry-emulate-dead00"));
    assert_true(is_there("serry-emulate-kept00/algo-1/file"));
    assert_true(is_there("serry-other/lock"));
    assert_int_equal(state_close(&s), 0);
    assert_int_equal(unsetenv("TMPDIR"), 0);
}

/* Opens logs of two hosts whose lines go to files. */
static struct logs *open_logs(struct strv *names, int fds[2])
{
    auto_free char *out = at("out");
    auto_free char *other = at("err");

    strv_add(names, "algo-1");
    strv_add(names, "algo-2");
    fds[0] = open(out, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    fds[1] = open(other, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fds[0] >= 0 && fds[1] >= 0);
    return logs_open(names, fds);
}

static void feed(struct logs *l, size_t host, int stream, const char *text)
{
    logs_feed(l, host, stream, text, strlen(text));
}

static void test_logs_are_whole_lines_with_their_host(void **state)
{
    auto_strv struct strv names = {0};
    auto_fd int first = -1, second = -1;
    int fds[2];
    struct logs *l = open_logs(&names, fds);

    (void)state;
    first = fds[0];
    second = fds[1];
    feed(l, 0, 1, "[algo-1:0] a\n[algo-1] b\nc");
    feed(l, 1, 1, "one\ntwo\n\n[algo-1:0] of another\n");
    feed(l, 0, 1, "d\n[algo-1");
    feed(l, 0, 2, "error\n");
    feed(l, 0, 1, "0] x\nrest");
    logs_end(l, 0);
    logs_close(l);
    expect_file("out", "[algo-1:0] a\n[algo-1] b\n[algo-2] one\n[algo-2] two\n[algo-2] \n"
                       "[algo-2] [algo-1:0] of another\n[algo-1] cd\n[algo-1] [algo-10] x\n"
                       "[algo-1] rest\n");
    expect_file("err", "[algo-1] error\n");
}

static void test_logs_long_lines_come_in_pieces(void **state)
{
    auto_strv struct strv names = {0};
    auto_fd int first = -1, second = -1;
    auto_free char *text = mem_zero(LOGS_LINE_MAX + 8);
    auto_buf struct buf expected = {0};
    auto_free char *path = at("out");
    auto_free char *found = NULL;
    int fds[2];
    struct logs *l = open_logs(&names, fds);

    (void)state;
    first = fds[0];
    second = fds[1];
    memset(text, 'x', LOGS_LINE_MAX);
    feed(l, 0, 1, text);
    feed(l, 0, 1, "\nshort\n"); /* just as long as a line may be: no piece */
    feed(l, 0, 1, text);
    feed(l, 0, 1, "y\n");
    logs_close(l);
    buf_printf(&expected, "[algo-1] %s\n[algo-1] short\n[algo-1] %s\n[algo-1] y\n", text, text);
    found = file_read(path, 4 * LOGS_LINE_MAX, NULL, &err);
    assert_non_null(found);
    assert_string_equal(found, buf_text(&expected));
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_tree_hosts_are_sorted_as_text),
        IN_FOLDER(test_tree_is_what_the_platform_makes),
        IN_FOLDER(test_tree_source_may_be_one_file),
        IN_FOLDER(test_tree_a_copy_never_holds_itself),
        IN_FOLDER(test_tree_ready_bases_are_in_the_order_of_the_job),
        IN_FOLDER(test_tree_ready_bases_without_a_list),
        IN_FOLDER(test_tree_without_bases),
        IN_FOLDER(test_folders_links_and_modes_are_kept),
        IN_FOLDER(test_folders_copies_are_bounded),
        IN_FOLDER(test_folders_remove_does_not_follow_links),
        IN_FOLDER(test_state_is_removed_at_the_end_and_kept_if_asked),
        IN_FOLDER(test_state_of_the_caller_is_only_emptied),
        IN_FOLDER(test_state_in_use_is_left_alone),
        IN_FOLDER(test_state_of_a_dead_one_is_swept),
        IN_FOLDER(test_logs_are_whole_lines_with_their_host),
        IN_FOLDER(test_logs_long_lines_come_in_pieces),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
