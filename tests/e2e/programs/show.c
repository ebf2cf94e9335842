/* SPDX-License-Identifier: Apache-2.0
 *
 * show - writes what it was given: args, env (NUL-ended words), cwd, fds, signals. Exits with
 * $SHOW_STATUS. */
#include "rank.h"

#include <dirent.h>
#include <unistd.h>

extern char **environ;

static void words(const char *name, char **word)
{
    FILE *file = rank_file(name, "w");

    for (; *word; word++)
        fwrite(*word, 1, strlen(*word) + 1, file);
    fclose(file);
}

static void descriptors(void)
{
    FILE *file = rank_file("fds", "w");
    DIR *dir = opendir("/proc/self/fd");
    struct dirent *entry;
    char target[512];
    ssize_t n;

    while (dir && (entry = readdir(dir))) {
        n = readlinkat(dirfd(dir), entry->d_name, target, sizeof target - 1);
        if (n < 0 || atoi(entry->d_name) == dirfd(dir) || atoi(entry->d_name) == fileno(file))
            continue;
        target[n] = '\0';
        fprintf(file, "%s %s\n", entry->d_name, target);
    }
    if (dir)
        closedir(dir);
    fclose(file);
}

static void state(void)
{
    FILE *file = rank_file("state", "w");
    FILE *status = fopen("/proc/self/status", "r");
    char line[512];

    while (status && fgets(line, sizeof line, status))
        if (strncmp(line, "SigBlk", 6) == 0 || strncmp(line, "SigIgn", 6) == 0)
            fputs(line, file);
    if (status)
        fclose(status);
    fprintf(file, "leads its session: %s\n", getsid(0) == getpid() ? "yes" : "no");
    fprintf(file, "cwd: %s\n", getcwd(line, sizeof line) ? line : "?");
    fprintf(file, "stdin at its end: %s\n", getchar() == EOF ? "yes" : "no");
    fclose(file);
}

int main(int argc, char **argv)
{
    (void)argc;
    descriptors();
    words("argv", argv);
    words("args", argv + 1);
    words("env", environ);
    state();
    return (int)rank_number("SHOW_STATUS", 0);
}
