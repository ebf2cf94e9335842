/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "emulator/namespaces.h"

#include <errno.h>
#include <linux/sched.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/files.h"
#include "base/mem.h"

pid_t namespaces_fork(uint64_t flags, int *pidfd)
{
    struct clone_args args = {
        .flags = flags | CLONE_PIDFD, .pidfd = (uint64_t)(uintptr_t)pidfd, .exit_signal = SIGCHLD};
    long pid = syscall(SYS_clone3, &args, sizeof(args));

    return pid < 0 ? -errno : (pid_t)pid;
}

const char *namespaces_why(int error)
{
    switch (error) {
    case -ENOSPC:
        return "the machine allows none (sysctl user.max_user_namespaces)";
    case -EPERM:
        return "not allowed here (sysctl kernel.unprivileged_userns_clone, AppArmor, or a "
               "container's profile)";
    case -ENOSYS:
        return "the kernel has no clone3, or a container's profile forbids it";
    default:
        return strerror(-error);
    }
}

static int write_map(pid_t pid, const char *file, const char *text, struct err *err)
{
    auto_free char *path = mem_printf("/proc/%d/%s", (int)pid, file);
    int rc = file_write(path, text, strlen(text));

    return rc ? err_set(err, BLAME_PLATFORM, rc, "%s: %s", path, namespaces_why(rc)) : 0;
}

static int map_one(pid_t pid, struct err *err)
{
    auto_free char *uid = mem_printf("0 %u 1\n", (unsigned)geteuid());
    auto_free char *gid = mem_printf("0 %u 1\n", (unsigned)getegid());

    if (write_map(pid, "setgroups", "deny", err) < 0 || write_map(pid, "uid_map", uid, err) < 0)
        return err->code;
    return write_map(pid, "gid_map", gid, err);
}

/* "NAME:FIRST:COUNT" of us in /etc/subuid or /etc/subgid. */
static bool find_range(const char *path, unsigned long *first, unsigned long *count)
{
    FILE *file = fopen(path, "re");
    const struct passwd *user = getpwuid(geteuid());
    char line[256], name[128];
    bool found = false;

    while (file && !found && fgets(line, sizeof(line), file)) {
        if (sscanf(line, "%127[^:]:%lu:%lu", name, first, count) != 3)
            continue;
        found = (user && strcmp(name, user->pw_name) == 0) ||
                strtoul(name, NULL, 10) == (unsigned long)geteuid();
    }
    if (file)
        (void)fclose(file);
    return found;
}

static int run_map(const char *program, pid_t pid, unsigned own, const char *ranges,
                   struct err *err)
{
    unsigned long first, count;
    int status = 0;
    pid_t child;

    if (!find_range(ranges, &first, &count))
        return err_set(err, BLAME_PLATFORM, -ENOENT, "%s: no range for user %u", ranges, own);
    {
        auto_free char *p = mem_printf("%d", (int)pid);
        auto_free char *u = mem_printf("%u", own);
        auto_free char *f = mem_printf("%lu", first);
        auto_free char *c = mem_printf("%lu", count);
        char *const argv[] = {(char *)(uintptr_t)program, p, "0", u, "1", "1", f, c, NULL};

        child = fork();
        if (child == 0) {
            (void)execvp(program, argv);
            _exit(127);
        }
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        return err_set(err, BLAME_PLATFORM, -EPERM, "%s: %s", program,
                       WEXITSTATUS(status) == 127 ? "not found" : "refused");
    return 0;
}

int namespaces_map(pid_t pid, enum rack_mode mode, struct err *err)
{
    if (mode == RACK_ROOT)
        return 0;
    if (mode == RACK_SINGLE)
        return map_one(pid, err);
    if (run_map("newuidmap", pid, (unsigned)geteuid(), "/etc/subuid", err) < 0)
        return err->code;
    return run_map("newgidmap", pid, (unsigned)getegid(), "/etc/subgid", err);
}
