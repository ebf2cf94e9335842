/* SPDX-License-Identifier: Apache-2.0
 *
 * survivors - leaves processes of every stubborn kind, their pids in pids.RANK, all of them
 * "sleep 600": in the background; in its own session; forked twice and deaf to TERM and HUP; the
 * same with an empty environment and no output open (not with $MARKED). Then, by $LEAVE: "success",
 * "failure" (rank 0 exits 3), or "stay". */
#include "rank.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum kind { BACKGROUND, OWN_SESSION, FORKED_TWICE, NAMELESS, KINDS };

static void become_sleep(enum kind kind, int told)
{
    static char *const nothing[] = {NULL};
    static char *const argv[] = {"sleep", "600", NULL};
    extern char **environ;
    pid_t self;
    int i;

    if (kind != BACKGROUND)
        setsid();
    if (kind >= FORKED_TWICE) {
        if (fork() != 0)
            _exit(0);
        signal(SIGTERM, SIG_IGN);
        signal(SIGHUP, SIG_IGN);
    }
    self = getpid();
    if (write(told, &self, sizeof self) != sizeof self)
        _exit(1);
    close(told);
    if (kind == NAMELESS)
        for (i = 0; i < 3; i++)
            close(i);
    execve("/bin/sleep", argv, kind == NAMELESS ? nothing : environ);
    _exit(1);
}

int main(void)
{
    const char *leave = rank_text("LEAVE", "success");
    FILE *pids = rank_file("pids", "w");
    int kinds = getenv("MARKED") ? NAMELESS : KINDS;
    int kind, ends[2];
    pid_t pid;

    if (pipe(ends) != 0)
        return 96;
    for (kind = 0; kind < kinds; kind++) {
        if (fork() == 0)
            become_sleep((enum kind)kind, ends[1]);
        if (read(ends[0], &pid, sizeof pid) != sizeof pid)
            return 95;
        fprintf(pids, "%d\n", (int)pid);
    }
    fprintf(pids, "%d\n", (int)getpid());
    fclose(pids);
    printf("ready\n");
    fflush(stdout);
    if (strcmp(leave, "success") == 0)
        return 0;
    if (strcmp(leave, "failure") == 0 && rank_self() == 0) {
        rank_wait_for_go();
        return 3;
    }
    pause();
    return 94;
}
