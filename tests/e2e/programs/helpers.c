/* SPDX-License-Identifier: Apache-2.0
 *
 * helpers - two forked helpers hand out items and would die of SIGTERM. On SIGTERM the rank takes
 * one more item from each; answered.RANK tells that both came. Exits 0, or 9 if a helper is gone.
 */
#include "rank.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static int helper(void)
{
    int ends[2];
    char byte;

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
        exit(96);
    if (fork() != 0) {
        close(ends[1]);
        return ends[0];
    }
    close(ends[0]);
    while (read(ends[1], &byte, 1) == 1)
        if (write(ends[1], &byte, 1) != 1)
            break;
    _exit(0);
}

static int item(int from)
{
    char byte = 'x';

    return send(from, &byte, 1, MSG_NOSIGNAL) == 1 && read(from, &byte, 1) == 1;
}

int main(void)
{
    int one = helper();
    int two = helper();
    sigset_t set;
    int signo;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, NULL);
    printf("ready\n");
    fflush(stdout);
    sigwait(&set, &signo);
    rank_work(300); /* a signal to the helpers would have arrived by now */
    if (!item(one) || !item(two))
        return 9;
    fclose(rank_file("answered", "w"));
    close(one);
    close(two);
    while (wait(NULL) > 0)
        ;
    return 0;
}
