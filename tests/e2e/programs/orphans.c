/* SPDX-License-Identifier: Apache-2.0
 *
 * orphans - leaves 500 short-lived orphans a second for $ORPHANS_MS, then exits 7. */
#include "rank.h"

#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
    long long until = rank_wall_ms() + rank_number("ORPHANS_MS", 2000);
    int i;

    printf("ready\n");
    fflush(stdout);
    while (rank_wall_ms() < until) {
        for (i = 0; i < 10; i++) {
            pid_t child = fork();

            if (child == 0) {
                if (fork() == 0)
                    rank_work(1);
                _exit(0);
            }
            waitpid(child, NULL, 0);
        }
        rank_work(20);
    }
    return 7;
}
