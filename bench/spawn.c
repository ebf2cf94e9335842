/* SPDX-License-Identifier: Apache-2.0
 *
 * spawn - the least that starting N processes costs: usage: spawn N PROGRAM [ARG ...]
 *
 * A bare posix_spawn() loop, then a wait for all of them. What serried's launch is measured
 * against. */
#include "config.h"

#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

extern char **environ;

int main(int argc, char **argv)
{
    long n = argc > 2 ? strtol(argv[1], NULL, 10) : 0;

    for (long i = 0; i < n; i++) {
        pid_t pid;

        if (posix_spawn(&pid, argv[2], NULL, NULL, argv + 2, environ) != 0) {
            perror(argv[2]);
            return 1;
        }
    }
    while (wait(NULL) > 0)
        ;
    return n > 0 ? 0 : 64;
}
