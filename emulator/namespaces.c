/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "emulator/namespaces.h"

#include <errno.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/sched.h>
#include <pwd.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/files.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/strv.h"

#define FILE_MAX_BYTES ((size_t)1 << 20)
#define TOOLS_PATH     "/usr/bin:/bin:/usr/sbin:/sbin:/usr/local/bin"
#define MAPPED_MAX     65535 /* as many as a container usually has, with the caller's own */

pid_t ns_clone(uint64_t flags, int *pidfd, int group)
{
    struct clone_args args = {.flags = flags, .exit_signal = SIGCHLD};

    if (pidfd) {
        args.flags |= CLONE_PIDFD;
        args.pidfd = (uintptr_t)pidfd;
    }
    if (group >= 0) {
        args.flags |= CLONE_INTO_CGROUP;
        args.cgroup = (unsigned)group;
    }
    return (pid_t)syscall(SYS_clone3, &args, sizeof(args));
}

/* ---- uid maps ---- */

/* "NAME:FIRST:COUNT". */
static bool read_range(char *line, const char *name, const char *number, struct ns_range *out)
{
    char *first = strchr(line, ':');
    char *count = first ? strchr(first + 1, ':') : NULL;
    long from, n;

    if (!count)
        return false;
    *first++ = '\0';
    *count++ = '\0';
    if ((strcmp(line, name) != 0 && strcmp(line, number) != 0) ||
        !num_integer(first, 1, UINT_MAX, &from) ||
        !num_integer(count, NS_RANGE_LEAST, UINT_MAX, &n))
        return false;
    *out = (struct ns_range){(unsigned long)from, (unsigned long)(n < MAPPED_MAX ? n : MAPPED_MAX)};
    return true;
}

int ns_range_find(const char *lines, const char *name, uid_t uid, struct ns_range *out)
{
    auto_free char *text = mem_dup(lines);
    auto_free char *number = mem_printf("%u", (unsigned)uid);
    char *rest = NULL;

    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        if (read_range(line, name, number, out))
            return 0;
    return -ENOENT;
}

static int find_in(const char *path, const char *name, struct ns_range *out, struct err *err)
{
    auto_free char *lines = file_read(path, FILE_MAX_BYTES, NULL, NULL);

    if (lines && ns_range_find(lines, name, geteuid(), out) == 0)
        return 0;
    return err_set(err, BLAME_PLATFORM, -ENOENT, "%s has no line for %s", path, name);
}

int ns_ranges_find(struct ns_ranges *out, struct err *err)
{
    const struct passwd *user = getpwuid(geteuid()); /* NOLINT(concurrency-mt-unsafe) */
    auto_free char *name = user ? mem_dup(user->pw_name) : mem_printf("%u", (unsigned)geteuid());
    auto_free char *uids = path_which("newuidmap", TOOLS_PATH);
    auto_free char *gids = path_which("newgidmap", TOOLS_PATH);

    if (!uids || !gids)
        return err_set(err, BLAME_PLATFORM, -ENOENT,
                       "newuidmap and newgidmap are not installed (package uidmap)");
    if (find_in("/etc/subuid", name, &out->uids, err) ||
        find_in("/etc/subgid", name, &out->gids, err))
        return err->code;
    return 0;
}

static int run_tool(const char *name, pid_t pid, unsigned own, const struct ns_range *range,
                    struct err *err)
{
    auto_free char *path = path_which(name, TOOLS_PATH);
    auto_strv struct strv argv = {0};
    pid_t child;
    int status = 0, rc;

    strv_add(&argv, name);
    strv_addf(&argv, "%d", (int)pid);
    strv_addf(&argv, "0");
    strv_addf(&argv, "%u", own);
    strv_addf(&argv, "1");
    strv_addf(&argv, "1");
    strv_addf(&argv, "%lu", range->first);
    strv_addf(&argv, "%lu", range->count);
    rc = path ? posix_spawn(&child, path, NULL, NULL, strv_list(&argv), environ) : ENOENT;
    if (rc)
        return err_set(err, BLAME_PLATFORM, -rc, "%s: %s", name, strerror(rc));
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return status ? err_set(err, BLAME_PLATFORM, -EPERM, "%s refused to map uids", name) : 0;
}

static int write_map(pid_t pid, const char *file, const char *text, struct err *err)
{
    auto_free char *path = mem_printf("/proc/%d/%s", (int)pid, file);
    int rc = file_write(path, text, strlen(text));

    if (!rc)
        return 0;
    return err_set(err, BLAME_PLATFORM, rc,
                   "%s of a user namespace: %s (the system may allow them to some programs only: "
                   "sysctl kernel.apparmor_restrict_unprivileged_userns)",
                   file, strerror(-rc));
}

int ns_map(pid_t pid, const struct ns_ranges *ranges, struct err *err)
{
    auto_free char *uid = mem_printf("0 %u 1\n", (unsigned)geteuid());
    auto_free char *gid = mem_printf("0 %u 1\n", (unsigned)getegid());

    if (ranges)
        return run_tool("newuidmap", pid, geteuid(), &ranges->uids, err) ||
                       run_tool("newgidmap", pid, getegid(), &ranges->gids, err)
                   ? err->code
                   : 0;
    if (write_map(pid, "setgroups", "deny", err) || write_map(pid, "uid_map", uid, err) ||
        write_map(pid, "gid_map", gid, err))
        return err->code;
    return 0;
}

/* ---- less power ---- */

/* What a container has by default. Without the rest, root in a host cannot mount, change the
 * clock or make the read-only parts of its tree writable. */
static const int kept[] = {
    CAP_CHOWN,  CAP_DAC_OVERRIDE, CAP_FSETID,           CAP_FOWNER,     CAP_MKNOD,
    CAP_SETGID, CAP_SETUID,       CAP_SETFCAP,          CAP_SETPCAP,    CAP_NET_RAW,
    CAP_KILL,   CAP_SYS_CHROOT,   CAP_NET_BIND_SERVICE, CAP_AUDIT_WRITE};

static bool is_kept(int cap)
{
    for (size_t i = 0; i < LENGTH(kept); i++)
        if (kept[i] == cap)
            return true;
    return false;
}

/* Root's sets are made anew when it executes something: of what the bounding and the inheritable
 * set leave. */
int ns_drop_power(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {0};

    for (int cap = 0; prctl(PR_CAPBSET_READ, (unsigned long)cap) >= 0; cap++)
        if (!is_kept(cap) && prctl(PR_CAPBSET_DROP, (unsigned long)cap) < 0)
            return -errno;
    if (syscall(SYS_capget, &head, sets) < 0)
        return -errno;
    for (size_t i = 0; i < LENGTH(sets); i++)
        sets[i].inheritable = 0;
    return syscall(SYS_capset, &head, sets) < 0 ? -errno : 0;
}

static int compare(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

void ns_keep_fds(int *keep, size_t n)
{
    unsigned from = STDERR_FILENO + 1;

    if (n)
        qsort(keep, n, sizeof(*keep), compare);
    for (size_t i = 0; i < n; i++) {
        if (keep[i] < (int)from)
            continue;
        if (keep[i] > (int)from)
            (void)syscall(SYS_close_range, from, (unsigned)keep[i] - 1, 0U);
        from = (unsigned)keep[i] + 1;
    }
    (void)syscall(SYS_close_range, from, UINT_MAX, 0U);
}

void ns_reset_signals(void)
{
    sigset_t none;

    for (int number = 1; number < NSIG; number++)
        (void)signal(number, SIG_DFL);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}
