/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "emulator/halt.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"

#define PASSES_MAX 100

static bool namespace_of(pid_t pid, struct stat *st)
{
    auto_free char *path = mem_printf("/proc/%d/ns/pid", (int)pid);

    return stat(path, st) == 0;
}

/* Stopped, or dead: neither starts another. */
static bool is_still(pid_t pid)
{
    auto_free char *path = mem_printf("/proc/%d/stat", (int)pid);
    auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    char text[512] = "";
    const char *end;

    if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
        return true;
    end = strrchr(text, ')');
    return !end || strlen(end) < 3 || strchr("TtZX", end[2]);
}

/* How many still ran. */
static size_t pass(const struct stat *ns, bool on)
{
    DIR *all = opendir("/proc");
    const struct dirent *entry;
    size_t running = 0;

    while (all && (entry = readdir(all))) { /* NOLINT(concurrency-mt-unsafe) */
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        struct stat st;

        if (pid <= 1 || !namespace_of(pid, &st) || st.st_ino != ns->st_ino ||
            st.st_dev != ns->st_dev || (on && is_still(pid)))
            continue;
        running++;
        (void)kill(pid, on ? SIGSTOP : SIGCONT);
    }
    if (all)
        (void)closedir(all);
    return running;
}

void halt_all(pid_t init, bool on)
{
    struct stat ns;

    if (!namespace_of(init, &ns))
        return;
    (void)kill(init, on ? SIGSTOP : SIGCONT); /* a launcher first: it starts the others */
    for (int i = 0; i < PASSES_MAX && pass(&ns, on) && on; i++)
        ;
}
