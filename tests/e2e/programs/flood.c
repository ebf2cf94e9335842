/* SPDX-License-Identifier: Apache-2.0
 *
 * flood - writes $LINES numbered lines of 100 bytes to stdout as fast as it can, in large writes
 * that end anywhere; up.RANK is there once it has begun, term.RANK gets the time when SIGTERM came,
 * which ends it. */
#include "rank.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

static int told;

static void on_term(int signo)
{
    struct timespec now;

    (void)signo;
    clock_gettime(CLOCK_REALTIME, &now);
    if (write(told, &now, sizeof now) != sizeof now)
        _exit(1);
    _exit(0);
}

int main(void)
{
    static char buffer[10000];
    long count = rank_number("LINES", 10000);
    long i;

    told = fileno(rank_file("term", "w"));
    signal(SIGTERM, on_term);
    fclose(rank_file("up", "w"));
    setvbuf(stdout, buffer, _IOFBF, 9973); /* a prime: pieces end within lines */
    for (i = 0; i < count; i++)
        printf("%ld %08ld %089ld\n", rank_self(), i, i * 7919);
    return fflush(stdout) == 0 ? 0 : 1;
}
