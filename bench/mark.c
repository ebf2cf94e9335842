/* SPDX-License-Identifier: Apache-2.0
 *
 * mark - a rank that writes down when it began: 8 bytes of CLOCK_MONOTONIC nanoseconds, appended to
 * the file that BENCH_STAMPS names.
 *
 * BENCH_DO says what then: "" ends, "work" sleeps for half a second, writes a second stamp and
 * ends, "wait" sleeps until a signal, "fail" (rank 0; the others wait) waits for a line on the FIFO
 * that BENCH_GO names, writes a second stamp and exits 1; "fall" is the same, and the others write
 * one when SIGTERM comes. */
#include "config.h"

#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char *path; /* of the stamps */

static void stamp(void)
{
    int fd = path ? open(path, O_WRONLY | O_APPEND | O_CREAT, 0666) : -1;
    struct timespec now;
    int64_t ns;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    if (fd >= 0 && write(fd, &ns, sizeof(ns)) < 0)
        _exit(2);
    if (fd >= 0)
        (void)close(fd);
}

static void on_term(int number)
{
    (void)number;
    stamp();
    _exit(0);
}

int main(void)
{
    const char *what = getenv("BENCH_DO");
    const char *rank = getenv("RANK");
    const char *go = getenv("BENCH_GO");

    path = getenv("BENCH_STAMPS");
    stamp();
    if (!what || !*what)
        return 0;
    if (strcmp(what, "work") == 0) {
        (void)nanosleep(&(struct timespec){.tv_nsec = 500000000}, NULL);
        stamp();
        return 0;
    }
    if (strcmp(what, "fall") == 0)
        (void)signal(SIGTERM, on_term);
    if ((strcmp(what, "fail") == 0 || strcmp(what, "fall") == 0) && rank &&
        strcmp(rank, "0") == 0) {
        char byte;
        int fd = open(go ? go : "", O_RDONLY);

        if (fd < 0 || read(fd, &byte, 1) < 0)
            return 2;
        stamp();
        return 1;
    }
    for (;;)
        (void)pause();
}
