/* SPDX-License-Identifier: Apache-2.0
 *
 * signals - notes each signal with its time in signals.RANK ("TERM 1700000000000"). On TERM it
 * saves for $SAVE_MS, writes saved.RANK and exits 0; with $STUBBORN it takes no notice. */
#include "rank.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

static void note(FILE *file, int signo)
{
    fprintf(file, "%s %lld\n", sigabbrev_np(signo), rank_wall_ms());
    fflush(file);
}

/* Saves until `save_ms` have passed, still noting what arrives. */
static int save(FILE *file, const sigset_t *set, long save_ms)
{
    long long until = rank_wall_ms() + save_ms;
    long long left;
    struct timespec wait;
    int signo;

    while ((left = until - rank_wall_ms()) > 0) {
        wait = (struct timespec){left / 1000, left % 1000 * 1000000};
        signo = sigtimedwait(set, NULL, &wait);
        if (signo > 0)
            note(file, signo);
    }
    fclose(rank_file("saved", "w"));
    return 0;
}

int main(void)
{
    static const int wanted[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2, SIGCONT, SIGALRM};
    FILE *file = rank_file("signals", "w");
    sigset_t set;
    size_t i;
    int signo;

    sigemptyset(&set);
    for (i = 0; i < sizeof wanted / sizeof *wanted; i++)
        sigaddset(&set, wanted[i]);
    sigprocmask(SIG_BLOCK, &set, NULL);
    alarm(60);
    printf("ready\n");
    fflush(stdout);
    for (;;) {
        signo = sigwaitinfo(&set, NULL);
        if (signo < 0 && errno == EINTR)
            continue;
        if (signo == SIGALRM)
            return 97;
        note(file, signo);
        if (signo == SIGTERM && !getenv("STUBBORN"))
            return save(file, &set, rank_number("SAVE_MS", 0));
    }
}
