/* SPDX-License-Identifier: Apache-2.0
 *
 * child - starts one process: vfork, clean signals, its own session, nothing inherited but 0, 1, 2.
 *
 * Every process of the daemon is started here, and reaped by run/reaper. */
#ifndef RUN_CHILD_H
#define RUN_CHILD_H
#include <sys/types.h>

struct err;

struct child_spec {
    char *const *argv; /* argv[0] is looked up in the PATH of `env` when it has no slash */
    char *const *env;
    const char *cwd; /* NULL: ours */
    int out, err;    /* descriptors for its stdout and stderr; -1: the null device */
};

/* The pid, or a negative errno with `err` ("exec of ./train.sh: Permission denied"; BLAME_USER for
 * what the program's file is to blame for, BLAME_PLATFORM for EAGAIN, ENOMEM and the like). The
 * child has: stdin the null device; empty signal mask; default dispositions; no descriptor over 2;
 * its own session and process group; SIGKILL when this process dies (PDEATHSIG). A script without
 * "#!" is a fault (no shell is tried). */
pid_t child_spawn(const struct child_spec *spec, struct err *err);
/* Raises our own limit of open descriptors to what is allowed: many ranks need many. Children get
 * the limit that was. */
void child_raise_limit(void);
/* A pipe whose ends are close-on-exec; the read end non-blocking; as large as the kernel lets, up
 * to `size` bytes. 0 or a negative errno. */
int child_pipe(int size, int *read_end, int *write_end);
#endif
