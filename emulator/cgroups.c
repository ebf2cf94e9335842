/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "emulator/cgroups.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/files.h"
#include "base/mem.h"

#define TOP_V1 "/sys/fs/cgroup/memory"
#define TOP_V2 "/sys/fs/cgroup"

/* A control file is there already: it is not made, nor emptied. */
static int write_to(const char *folder, const char *file, const char *text)
{
    auto_free char *path = path_join(folder, file);
    auto_fd int fd = open(path, O_WRONLY | O_CLOEXEC);

    return fd < 0 ? -errno : fd_write_all(fd, text, strlen(text));
}

static int limit_v1(const char *folder, const char *bytes)
{
    return write_to(folder, "memory.limit_in_bytes", bytes);
}

static int limit_v2(const char *folder, const char *bytes)
{
    (void)write_to(folder, "memory.swap.max", "0");
    return write_to(folder, "memory.max", bytes);
}

static char *make(const char *top, const char *name, pid_t pid, const char *bytes,
                  int (*limit)(const char *folder, const char *bytes), int *rc)
{
    auto_free char *folder = path_join(top, name);
    auto_free char *number = mem_printf("%d", (int)pid);

    *rc = mkdir(folder, 0755) < 0 && errno != EEXIST ? -errno : limit(folder, bytes);
    if (!*rc)
        *rc = write_to(folder, "cgroup.procs", number);
    if (!*rc)
        return TAKE(folder);
    (void)rmdir(folder);
    return NULL;
}

char *cgroups_limit(const char *name, pid_t pid, long mib, struct err *err)
{
    auto_free char *bytes = mem_printf("%lld", (long long)mib << 20);
    char *folder;
    int rc;

    if (access(TOP_V1 "/memory.limit_in_bytes", F_OK) == 0) {
        folder = make(TOP_V1, name, pid, bytes, limit_v1, &rc);
    } else {
        (void)write_to(TOP_V2, "cgroup.subtree_control", "+memory");
        folder = make(TOP_V2, name, pid, bytes, limit_v2, &rc);
    }
    if (!folder)
        (void)err_set(err, BLAME_PLATFORM, rc,
                      "memory limits need a memory controller that may be written: %s",
                      strerror(-rc));
    return folder;
}

void cgroups_remove(char *folder)
{
    if (folder)
        (void)rmdir(folder);
    free(folder);
}
