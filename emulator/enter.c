/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "emulator/enter.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/files.h"
#include "base/mem.h"
#include "base/strv.h"
#include "emulator/cgroups.h"
#include "emulator/host.h"
#include "emulator/namespaces.h"
#include "emulator/rackd.h"

#define CANNOT_START   127
#define WORDS_MAX      (4 << 20) /* bytes; the kernel takes no more either */
#define ALL_NAMESPACES (CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWIPC)

/* ---- words ---- */

/* Each word has a mark in front, as it may be empty; a list ends with an empty one. */
static void add_words(struct buf *b, char *const *words)
{
    for (; words && *words; words++) {
        buf_char(b, '=');
        buf_add(b, *words, strlen(*words) + 1);
    }
    buf_char(b, '\0');
}

int enter_pack(char *const *argv, char *const *env)
{
    auto_buf struct buf b = {.max = WORDS_MAX};
    auto_fd int fd = memfd_create("serry-exec", MFD_CLOEXEC);
    int rc;

    add_words(&b, argv);
    add_words(&b, env);
    if (fd < 0 || b.over)
        return fd < 0 ? -errno : -E2BIG;
    rc = fd_write_all(fd, b.data, b.len);
    return rc ? rc : TAKE_FD(fd);
}

static char *read_words(int fd, size_t *n)
{
    struct stat st;
    char *text;

    if (fstat(fd, &st) < 0 || st.st_size > WORDS_MAX)
        return NULL;
    *n = (size_t)st.st_size;
    text = mem_zero(*n + 1);
    return pread(fd, text, *n, 0) == st.st_size ? text : NULL;
}

static const char *take_list(const char *at, const char *end, struct strv *out)
{
    for (; at < end && *at; at += strlen(at) + 1)
        strv_add(out, at + 1);
    return at < end ? at + 1 : end;
}

static int unpack(const struct rackd *r, size_t host, int fd, struct strv *argv, struct strv *env)
{
    auto_strv struct strv given = {0};
    size_t n = 0;
    auto_free char *text = read_words(fd, &n);

    if (!text)
        return -EINVAL;
    (void)take_list(take_list(text, text + n, argv), text + n, &given);
    host_environment(r, host, strv_list(&given), env);
    return argv->n ? 0 : -EINVAL;
}

/* ---- processes ---- */

_Noreturn static void become(int pidfd, const struct rackd_fds *fds, const struct strv *argv,
                             const struct strv *env)
{
    (void)setns(pidfd, CLONE_NEWCGROUP); /* the group was joined by its name in ours */
    (void)setsid();
    for (int i = 0; i < 3; i++)
        if (dup2(fds->fd[i + 1], i) < 0)
            _exit(CANNOT_START);
    ns_keep_fds(NULL, 0);
    (void)ns_drop_power();
    environ = (char **)(void *)strv_list(env);
    (void)execvp(argv->v[0], strv_list(argv));
    (void)dprintf(STDERR_FILENO, "serry: %s: %s\n", argv->v[0], strerror(errno));
    _exit(CANNOT_START);
}

/* Only a child of who enters is in the pid namespace; -1: it cannot be. */
static pid_t spawn_inside(const struct rackd *r, size_t host, int pidfd,
                          const struct rackd_fds *fds, const struct strv *argv,
                          const struct strv *env)
{
    pid_t pid;

    if (cgroups_enter(r->groups, host, getpid()) < 0 || setns(pidfd, ALL_NAMESPACES) < 0 ||
        chdir("/") < 0)
        return -1;
    pid = ns_clone(0, NULL, cgroups_folder(r->groups, host));
    if (pid == 0)
        become(pidfd, fds, argv, env);
    return pid;
}

_Noreturn static void wait_for_it(const struct rackd *r, size_t host, int pidfd,
                                  const struct rackd_fds *fds, unsigned id)
{
    auto_strv struct strv argv = {0};
    auto_strv struct strv env = {0};
    struct rackd_message m = {
        .word = RACKD_EXEC_EXIT, .host = host, .id = id, .number = CANNOT_START << 8};
    int keep[] = {r->control};
    pid_t pid = -1;

    ns_reset_signals();
    if (unpack(r, host, fds->fd[0], &argv, &env) == 0)
        pid = spawn_inside(r, host, pidfd, fds, &argv, &env);
    ns_keep_fds(keep, LENGTH(keep)); /* the command alone holds its descriptors */
    while (pid > 0 && waitpid(pid, &m.number, 0) < 0 && errno == EINTR)
        ;
    (void)rackd_send(r->control, &m, NULL);
    _exit(0);
}

void enter_run(const struct rackd *r, size_t host, int pidfd, const struct rackd_fds *fds,
               unsigned id)
{
    const struct rackd_message failed = {
        .word = RACKD_EXEC_EXIT, .host = host, .id = id, .number = CANNOT_START << 8};
    pid_t pid = pidfd >= 0 && fds->n == RACKD_FDS_MAX ? ns_clone(0, NULL, -1) : -1;

    if (pid == 0)
        wait_for_it(r, host, pidfd, fds, id);
    if (pid < 0)
        (void)rackd_send(r->control, &failed, NULL);
}
