/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "run/memory.h"

#include "procs.h"

#include "base/cleanup.h"
#include "base/files.h"
#include "base/mem.h"
#include "base/strv.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define V1_CGROUPS "5:pids:/pod/a\n4:cpu,memory:/pod/a\n1:name=systemd:/pod/a\n0::/\n"
#define V2_CGROUPS "0::/pod/b\n"
#define LIMIT      (32LL << 20)

static char root[] = "/tmp/test_memory.XXXXXX";

static void put(const char *path, const char *text)
{
    auto_free char *full = path_join(root, path);
    auto_free char *dir = mem_dup_n(full, (size_t)(strrchr(full, '/') - full));

    assert_int_equal(folder_make(dir), 0);
    assert_int_equal(file_write(full, text, strlen(text)), 0);
}

static void test_memory_reads_v2_events_since_the_start(void **state)
{
    struct memory_watch w;
    struct memory_facts facts;

    (void)state;
    put("pod/b/memory.events", "low 0\nhigh 0\nmax 9\noom 3\noom_kill 2\noom_group_kill 8\n");
    put("pod/b/memory.max", "67108864\n");
    memory_open_as(&w, root, V2_CGROUPS);
    memory_read(&w, &facts);
    assert_true(facts.readable);
    assert_int_equal(facts.oom_kills, 0);
    assert_int_equal(facts.limit, 67108864);
    put("pod/b/memory.events", "oom 4\noom_kill 5\n");
    put("pod/b/memory.max", "max\n");
    memory_read(&w, &facts);
    assert_int_equal(facts.oom_kills, 3);
    assert_int_equal(facts.limit, 0);
}

static void test_memory_reads_v1_oom_control(void **state)
{
    struct memory_watch w;
    struct memory_facts facts;

    (void)state;
    put("memory/pod/a/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n");
    put("memory/pod/a/memory.limit_in_bytes", "33554432\n");
    memory_open_as(&w, root, V1_CGROUPS);
    put("memory/pod/a/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
    memory_read(&w, &facts);
    assert_true(facts.readable);
    assert_int_equal(facts.oom_kills, 1);
    assert_int_equal(facts.limit, 33554432);
    put("memory/pod/a/memory.limit_in_bytes", "9223372036854771712\n");
    memory_read(&w, &facts);
    assert_int_equal(facts.limit, 0);
}

/* In a container without a cgroup namespace the path is the host's; the root itself is ours. */
static void test_memory_falls_back_to_the_root(void **state)
{
    struct memory_watch w;
    struct memory_facts facts;

    (void)state;
    put("memory/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n");
    put("memory/memory.limit_in_bytes", "1048576\n");
    memory_open_as(&w, root, "4:memory:/docker/0123\n0::/docker/0123\n");
    memory_read(&w, &facts);
    assert_true(facts.readable);
    assert_int_equal(facts.limit, 1048576);
}

static void test_memory_finds_v2_beside_v1(void **state)
{
    struct memory_watch w;
    struct memory_facts facts;

    (void)state;
    put("unified/job/memory.events", "oom_kill 0\n");
    put("unified/job/memory.max", "4096\n");
    memory_open_as(&w, root, "1:name=systemd:/job\n0::/job\n");
    memory_read(&w, &facts);
    assert_true(facts.readable);
    assert_int_equal(facts.limit, 4096);
}

static void test_memory_names_the_file_it_could_not_read(void **state)
{
    struct memory_watch w;
    struct memory_facts facts;

    (void)state;
    memory_open_as(&w, "/none", V2_CGROUPS);
    memory_read(&w, &facts);
    assert_false(facts.readable);
    assert_int_equal(facts.oom_kills, 0);
    assert_string_equal(facts.why, "/none/pod/b/memory.events: not there");
    memory_open_as(&w, "/none", "no such thing\n::\n4:memory\n");
    memory_read(&w, &facts);
    assert_false(facts.readable);
    assert_string_equal(facts.why, "/none/memory.events: not there");
}

static void test_memory_says_so_when_the_kernel_does_not_count(void **state)
{
    struct memory_watch w;
    struct memory_facts facts;
    auto_free char *old = path_join(root, "old");
    auto_free char *wanted = mem_printf("%s/memory.events: no line \"oom_kill\"", old);

    (void)state;
    put("old/memory.events", "low 0\nhigh 0\n");
    memory_open_as(&w, old, "0::/\n");
    memory_read(&w, &facts);
    assert_false(facts.readable);
    assert_string_equal(facts.why, wanted);
}

static void test_memory_takes_no_other_word_for_a_count(void **state)
{
    static const char *const lines[] = {"oom_kill x\n", "oom_kill \n", "oom_kill -1\n",
                                        "oom_kill 1 2\n", "oom_kill 99999999999999999999\n"};
    auto_free char *odd = path_join(root, "odd");
    auto_free char *wanted = mem_printf("%s/memory.events: oom_kill: not a number", odd);

    (void)state;
    for (size_t i = 0; i < LENGTH(lines); i++) {
        struct memory_watch w;
        struct memory_facts facts;

        put("odd/memory.events", lines[i]);
        memory_open_as(&w, odd, "0::/\n");
        memory_read(&w, &facts);
        assert_false(facts.readable);
        assert_string_equal(facts.why, wanted);
        put("odd/memory.events", "oom_kill 0");
        memory_open_as(&w, odd, "0::/\n");
        put("odd/memory.events", lines[i]); /* from now on */
        memory_read(&w, &facts);
        assert_false(facts.readable);
        assert_string_equal(facts.why, wanted);
    }
}

static void test_memory_refuses_a_path_that_is_too_long(void **state)
{
    struct memory_watch w;
    struct memory_facts facts;
    auto_free char *path = mem_zero(2001);
    auto_free char *cgroups = NULL;

    (void)state;
    memset(path, 'x', 2000);
    cgroups = mem_printf("0::/%s\n", path);
    memory_open_as(&w, "/none", cgroups);
    memory_read(&w, &facts);
    assert_false(facts.readable);
    assert_string_equal(facts.why, "the path of the cgroup is too long");
}

/* ---- the real thing ---------------------------------------------------------------------------
 */

static const struct {
    const char *folder, *limit;
} hierarchies[] = {
    {"/sys/fs/cgroup/memory", "memory.limit_in_bytes"},
    {"/sys/fs/cgroup",        "memory.max"           },
};

/* A new cgroup with a limit, to free(); NULL where we may not make one. */
static char *make_limited_group(void)
{
    auto_free char *limit = mem_printf("%lld", LIMIT);

    for (size_t i = 0; i < LENGTH(hierarchies); i++) {
        auto_free char *dir =
            mem_printf("%s/serried-test-%d", hierarchies[i].folder, (int)getpid());
        auto_free char *file = path_join(dir, hierarchies[i].limit);

        if (mkdir(dir, 0755) < 0)
            continue;
        if (file_exists(file) && file_write(file, limit, strlen(limit)) == 0)
            return TAKE(dir);
        (void)rmdir(dir);
    }
    return NULL;
}

__attribute__((noreturn)) static void eat_memory(void)
{
    const size_t page = 4096, size = (size_t)256 << 20;
    char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    (void)file_write("/proc/self/oom_score_adj", "1000", 4);
    for (size_t at = 0; p != MAP_FAILED && at < size; at += page)
        p[at] = 1;
    _exit(0);
}

/* Moves into the group and sees a child of its own die there: writes what it saw. */
__attribute__((noreturn)) static void watch_in(const char *dir, int out)
{
    auto_free char *procs = path_join(dir, "cgroup.procs");
    struct memory_watch w;
    struct memory_facts facts;
    int status = 0;
    pid_t pid;

    if (file_write(procs, "0", 1) < 0)
        _exit(1);
    memory_open(&w, "/sys/fs/cgroup");
    pid = fork();
    if (pid == 0)
        eat_memory();
    if (waitpid(pid, &status, 0) != pid || !WIFSIGNALED(status))
        _exit(2);
    memory_read(&w, &facts);
    _exit(write(out, &facts, sizeof(facts)) == (ssize_t)sizeof(facts) ? 0 : 3);
}

static void test_memory_counts_a_real_kill(void **state)
{
    auto_free char *dir = make_limited_group();
    struct memory_facts facts = {.readable = false};
    int ends[2], status;
    ssize_t n;
    pid_t pid;

    (void)state;
    if (!dir) {
        print_message("no memory cgroup can be made here\n");
        skip();
    }
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid = fork();
    if (pid == 0)
        watch_in(dir, ends[1]);
    (void)close(ends[1]);
    status = status_of(pid);
    n = read(ends[0], &facts, sizeof(facts));
    (void)close(ends[0]);
    assert_int_equal(rmdir(dir), 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_int_equal(n, sizeof(facts));
    assert_true(facts.readable);
    assert_int_equal(facts.oom_kills, 1);
    assert_int_equal(facts.limit, LIMIT);
}

static int make_root(void **state)
{
    (void)state;
    (void)alarm(30);
    return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
    pid_t pid = fork();

    (void)state;
    if (pid == 0) {
        (void)execlp("rm", "rm", "-rf", "--", root, (char *)NULL);
        _exit(127);
    }
    return waitpid(pid, NULL, 0) == pid ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory_reads_v2_events_since_the_start),
        cmocka_unit_test(test_memory_reads_v1_oom_control),
        cmocka_unit_test(test_memory_falls_back_to_the_root),
        cmocka_unit_test(test_memory_finds_v2_beside_v1),
        cmocka_unit_test(test_memory_names_the_file_it_could_not_read),
        cmocka_unit_test(test_memory_says_so_when_the_kernel_does_not_count),
        cmocka_unit_test(test_memory_takes_no_other_word_for_a_count),
        cmocka_unit_test(test_memory_refuses_a_path_that_is_too_long),
        cmocka_unit_test(test_memory_counts_a_real_kill),
    };

    return cmocka_run_group_tests(tests, make_root, remove_root);
}
