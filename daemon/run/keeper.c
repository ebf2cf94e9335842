/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "run/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "run/killtree.h"

#define KEEPER_FD       3
#define KEEPER_LIMIT_MS 4000 /* for all to be dead, from the daemon's death on */
#define DISMISSED       ((pid_t)0)

static int keeper_fd = -1; /* the daemon's end */

/* Nothing of the daemon's may stay open here: whoever reads its output waits for the end of it. */
static void drop_descriptors(int fd)
{
    int null = open("/dev/null", O_RDWR);
    int lifted = fcntl(fd, F_DUPFD, KEEPER_FD);

    for (int i = 0; i < KEEPER_FD; i++)
        if (null < 0 || dup2(null, i) < 0)
            (void)close(i);
    (void)dup2(lifted, KEEPER_FD);
    if (close_range(KEEPER_FD + 1, ~0U, 0) < 0) /* before Linux 5.9 */
        for (int i = KEEPER_FD + 1; i < 4096; i++)
            (void)close(i);
}

__attribute__((noreturn)) static void keep(int fd, const char *mark)
{
    pid_t session;
    ssize_t n;

    mem_on_failure(NULL);
    (void)setsid();
    (void)prctl(PR_SET_NAME, "serried-keeper");
    drop_descriptors(fd);
    while ((n = recv(KEEPER_FD, &session, sizeof(session), 0)) > 0) {
        if (session == DISMISSED)
            _exit(0);
        killtree_note(session);
    }
    _exit(n == 0 && killtree_sweep(mark, KEEPER_LIMIT_MS) ? 0 : 1);
}

/* With all signals blocked in the child, for good: whoever wants it gone must mean it. */
static pid_t fork_blocked(void)
{
    sigset_t all, before;
    pid_t pid;

    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, &before);
    pid = fork();
    if (pid != 0)
        (void)sigprocmask(SIG_SETMASK, &before, NULL);
    return pid < 0 ? -errno : pid;
}

pid_t keeper_start(const char *mark)
{
    auto_fd int ours = -1, theirs = -1;
    int ends[2];
    pid_t pid;

    if (getpid() == 1)
        return 0;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return -errno;
    ours = ends[0];
    theirs = ends[1];
    pid = fork_blocked();
    if (pid == 0)
        keep(theirs, mark);
    if (pid > 0)
        keeper_fd = TAKE_FD(ours);
    return pid;
}

static void tell(pid_t session)
{
    /* never waits, and never dies of a keeper that is gone */
    if (keeper_fd >= 0)
        (void)send(keeper_fd, &session, sizeof(session), MSG_NOSIGNAL | MSG_DONTWAIT);
}

void keeper_add(pid_t session)
{
    killtree_note(session);
    tell(session);
}

void keeper_dismiss(void)
{
    tell(DISMISSED);
    cleanup_fd(&keeper_fd);
    keeper_fd = -1;
    killtree_forget();
}
