/* SPDX-License-Identifier: Apache-2.0
 *
 * muxonly FOLDER N PROGRAM [ARGUMENTS] - the log path alone: starts N copies of a program and takes
 * their standard output through run/logmux to its own, and to FOLDER/RANK.out. Without a FOLDER
 * ("") no files are written. NAME=VALUE words before it are settings: prefix, ranks, format. */
#include "config.h"

#include "base/mem.h"
#include "core/settings.h"
#include "run/logmux.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define WRITERS_MAX 64
#define PIPE_BYTES  (1 << 18)

static long open_streams;
static struct logmux *mux;

static void on_done(void *data)
{
    (void)data;
    logmux_close(mux);
}

static void on_eof(void *data)
{
    (void)data;
    if (!--open_streams)
        logmux_finish(mux, 10000, 0, on_done, NULL);
}

static int start(char **argv)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    switch (fork()) {
    case -1:
        return -1;
    case 0:
        if (dup2(ends[1], STDOUT_FILENO) < 0)
            _exit(126);
        (void)execvp(argv[0], argv);
        _exit(127);
    default:
        (void)close(ends[1]);
        (void)fcntl(ends[0], F_SETPIPE_SZ, PIPE_BYTES);
        (void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
        return ends[0];
    }
}

static void take_settings(struct settings *set, char ***argv)
{
    static char prefix[] = "auto", format[] = "text", ranks[] = "all";

    *set = (struct settings){.log_format = format,
                             .log_prefix = prefix,
                             .log_ranks = ranks,
                             .log_line_max = 1 << 16,
                             .log_file_max = 1 << 28,
                             .log_progress_per_s = 2};
    for (; **argv && strchr(**argv, '='); ++*argv) {
        char *value = strchr(**argv, '=') + 1;

        if (!strncmp(**argv, "prefix=", 7))
            set->log_prefix = value;
        else if (!strncmp(**argv, "ranks=", 6))
            set->log_ranks = value;
        else if (!strncmp(**argv, "format=", 7))
            set->log_format = value;
    }
}

int main(int argc, char **argv)
{
    uv_loop_t *loop = uv_default_loop();
    struct settings set;
    struct rusage usage;
    long n;

    (void)signal(SIGPIPE, SIG_IGN);
    argv++;
    take_settings(&set, &argv);
    n = argc > 3 && argv[0] && argv[1] ? strtol(argv[1], NULL, 10) : 0;
    if (n < 1 || n > WRITERS_MAX || !argv[2]) {
        (void)fprintf(stderr, "usage: muxonly [NAME=VALUE ...] FOLDER N PROGRAM [ARGUMENTS]\n");
        return 64;
    }
    mux = logmux_open(loop, &set, true);
    for (long i = 0; i < n; i++) {
        int fd = start(argv + 2);

        if (fd < 0)
            return 71;
        open_streams++;
        (void)logmux_add(mux, &(struct log_source){
                                  .host = "algo-1",
                                  .rank = (unsigned)i,
                                  .fd = fd,
                                  .path = *argv[0] ? mem_printf("%s/%ld.out", argv[0], i) : NULL,
                                  .on_eof = on_eof});
    }
    (void)uv_run(loop, UV_RUN_DEFAULT);
    while (wait(NULL) > 0)
        continue;
    (void)getrusage(RUSAGE_SELF, &usage);
    (void)fprintf(stderr, "resident at most: %ld KiB, user %ld.%03ld s, system %ld.%03ld s\n",
                  usage.ru_maxrss, usage.ru_utime.tv_sec, usage.ru_utime.tv_usec / 1000,
                  usage.ru_stime.tv_sec, usage.ru_stime.tv_usec / 1000);
    return 0;
}
