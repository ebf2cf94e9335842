/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/outcome.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/mem.h"

#define STATUS_NO_START 127 /* as a shell says it */
#define STATUS_OVERDUE  1   /* however it ended then */

static const char *const names[] = {
    [SIGHUP] = "SIGHUP",       [SIGINT] = "SIGINT",       [SIGQUIT] = "SIGQUIT",
    [SIGILL] = "SIGILL",       [SIGTRAP] = "SIGTRAP",     [SIGABRT] = "SIGABRT",
    [SIGBUS] = "SIGBUS",       [SIGFPE] = "SIGFPE",       [SIGKILL] = "SIGKILL",
    [SIGUSR1] = "SIGUSR1",     [SIGSEGV] = "SIGSEGV",     [SIGUSR2] = "SIGUSR2",
    [SIGPIPE] = "SIGPIPE",     [SIGALRM] = "SIGALRM",     [SIGTERM] = "SIGTERM",
    [SIGSTKFLT] = "SIGSTKFLT", [SIGCHLD] = "SIGCHLD",     [SIGCONT] = "SIGCONT",
    [SIGSTOP] = "SIGSTOP",     [SIGTSTP] = "SIGTSTP",     [SIGTTIN] = "SIGTTIN",
    [SIGTTOU] = "SIGTTOU",     [SIGURG] = "SIGURG",       [SIGXCPU] = "SIGXCPU",
    [SIGXFSZ] = "SIGXFSZ",     [SIGVTALRM] = "SIGVTALRM", [SIGPROF] = "SIGPROF",
    [SIGWINCH] = "SIGWINCH",   [SIGIO] = "SIGIO",         [SIGPWR] = "SIGPWR",
    [SIGSYS] = "SIGSYS",
};

static const struct {
    int signal;
    const char *text;
} helps[] = {
    {SIGILL,  "look at the instruction set: the program was built for another CPU than this one"},
    {SIGABRT, "the program gave up: failed assertion, uncaught C++ exception or damaged heap"   },
    {SIGBUS,  "look at shared memory: /dev/shm may be too small for the data loader's workers"  },
    {SIGFPE,  "an integer division by zero, or one whose result does not fit"                   },
    {SIGKILL,
     "not sent by the launcher: by the kernel (memory), an operator or the program itself"      },
    {SIGSEGV, "bad memory access in native code; PYTHONFAULTHANDLER=1 shows where"              },
    {SIGTERM, "not sent by the launcher: by another process or the program itself"              },
    {SIGXCPU, "the limit of CPU time was reached (ulimit -t)"                                   },
    {SIGXFSZ, "the limit of file size was reached (ulimit -f)"                                  },
    {SIGSYS,  "a system call that the container's security profile forbids"                     },
};

void outcome_done(struct outcome *o)
{
    free(TAKE(o->spawn_error));
    free(TAKE(o->elastic_text));
    free(TAKE(o->last_err));
    free(TAKE(o->last_out));
    free(TAKE(o->lost));
    witness_free(TAKE(o->witness));
}

void witness_free(struct witness *w)
{
    if (!w)
        return;
    free(w->message);
    free(w->detail);
    free(w);
}

const char *outcome_signal_name(int signal, char *text, size_t size)
{
    if (signal > 0 && (size_t)signal < LENGTH(names) && names[signal])
        return names[signal];
    if (signal >= SIGRTMIN && signal <= SIGRTMAX)
        (void)snprintf(text, size, "SIGRTMIN+%d", signal - SIGRTMIN);
    else
        (void)snprintf(text, size, "signal %d", signal);
    return text;
}

const char *outcome_signal_help(int signal)
{
    for (size_t i = 0; i < LENGTH(helps); i++)
        if (helps[i].signal == signal)
            return helps[i].text;
    return NULL;
}

char *outcome_text(const struct outcome *o)
{
    char name[24];

    if (o->lost)
        return mem_printf("lost: %s", o->lost);
    if (!o->started)
        return mem_dup(o->spawn_error ? "could not be started" : "was never started");
    if (o->overdue_s)
        return mem_printf("not finished after %u s", o->overdue_s);
    if (!o->ended)
        return mem_dup("did not end");
    if (o->signal)
        return mem_printf("signal %d (%s)", o->signal,
                          outcome_signal_name(o->signal, name, sizeof(name)));
    return mem_printf("exit code %d", o->exit_code);
}

int outcome_status(const struct outcome *o)
{
    if (o->lost)
        return err_status(BLAME_HOST);
    if (!o->started)
        return STATUS_NO_START;
    if (o->overdue_s)
        return STATUS_OVERDUE;
    if (!o->ended)
        return 128 + SIGKILL;
    return o->signal ? 128 + o->signal : o->exit_code & 0xff;
}
