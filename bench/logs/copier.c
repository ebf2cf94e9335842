/* SPDX-License-Identifier: Apache-2.0
 *
 * copier N PROGRAM [ARGUMENTS] - the least that a forwarder can do: starts N copies of a program
 * and copies the pipes of their standard output to its own, 64 KiB at a time. What a log path
 * reaches is told as a share of this. */
#include "config.h"

#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define WRITERS_MAX 64

static int start(char **argv)
{
    int ends[2];

    if (pipe(ends) < 0)
        return -1;
    switch (fork()) {
    case -1:
        return -1;
    case 0:
        if (dup2(ends[1], STDOUT_FILENO) < 0)
            _exit(126);
        (void)close(ends[0]);
        (void)close(ends[1]);
        (void)execvp(argv[0], argv);
        _exit(127);
    default:
        (void)close(ends[1]);
        return ends[0];
    }
}

/* False at the end of the pipe, or when the output takes no more. */
static bool copy(int fd)
{
    static char chunk[65536];
    ssize_t n = read(fd, chunk, sizeof(chunk));

    return n > 0 && write(STDOUT_FILENO, chunk, (size_t)n) == n;
}

int main(int argc, char **argv)
{
    struct pollfd fds[WRITERS_MAX];
    long n = argc > 2 ? strtol(argv[1], NULL, 10) : 0;
    long open_ones = n;

    if (n < 1 || n > WRITERS_MAX) {
        (void)fprintf(stderr, "usage: copier N PROGRAM [ARGUMENTS]\n");
        return 64;
    }
    for (long i = 0; i < n; i++) {
        fds[i] = (struct pollfd){.fd = start(argv + 2), .events = POLLIN};
        if (fds[i].fd < 0)
            return 71;
    }
    while (open_ones && poll(fds, (nfds_t)n, -1) > 0) {
        for (long i = 0; i < n; i++) {
            if (!fds[i].revents || copy(fds[i].fd))
                continue;
            fds[i].fd = -1; /* poll() skips it */
            open_ones--;
        }
    }
    while (wait(NULL) > 0)
        continue;
    return 0;
}
