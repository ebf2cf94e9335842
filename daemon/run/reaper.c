/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "run/reaper.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static struct {
    uv_signal_t signal;
    reaper_cb on_end; /* NULL: closed */
    void *data;
} reaper;

static void on_sigchld(uv_signal_t *handle, int signum)
{
    (void)handle;
    (void)signum;
    reaper_look();
}

int reaper_open(uv_loop_t *loop, reaper_cb on_end, void *data)
{
    sigset_t child;
    int rc;

    if (getpid() != 1 && prctl(PR_SET_CHILD_SUBREAPER, 1L) < 0)
        return -errno;
    rc = uv_signal_init(loop, &reaper.signal);
    if (rc)
        return rc;
    rc = uv_signal_start(&reaper.signal, on_sigchld, SIGCHLD);
    if (rc) {
        uv_close((uv_handle_t *)&reaper.signal, NULL);
        return rc;
    }
    uv_unref((uv_handle_t *)&reaper.signal);
    reaper.on_end = on_end;
    reaper.data = data;
    (void)sigemptyset(&child); /* whoever started us may have left it blocked */
    (void)sigaddset(&child, SIGCHLD);
    (void)pthread_sigmask(SIG_UNBLOCK, &child, NULL);
    return 0;
}

void reaper_look(void)
{
    struct rusage usage;
    int status;
    pid_t pid;

    while (reaper.on_end && (pid = wait4(-1, &status, WNOHANG, &usage)) != 0) {
        if (pid > 0)
            reaper.on_end(reaper.data, pid, status, &usage);
        else if (errno != EINTR)
            return; /* no children */
    }
}

void reaper_close(void)
{
    if (!reaper.on_end)
        return;
    reaper.on_end = NULL;
    uv_close((uv_handle_t *)&reaper.signal, NULL);
}
