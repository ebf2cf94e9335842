/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "emulator/cgroups.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/files.h"
#include "base/mem.h"
#include "base/strv.h"
#include "emulator/namespaces.h"

#define PREFIX         "serry-rack-"
#define FILE_MAX_BYTES ((size_t)64 << 10)
#define ENTRIES_MAX    10000
#define EMPTY_LIMIT_MS 200 /* until the kernel has let go of a process that has ended */
#define EMPTY_TRIES    5

/* The kinds of hierarchy; of version 2 the root may hold some controllers or none. */
static const struct kind {
    const char *mount;
    const char *line;  /* how its line of /proc/self/cgroup begins, after the number */
    const char *proof; /* a file of its mount's root */
    const char *limit; /* of memory, in a group */
    const char *swap;  /* what must not take what memory does not */
    const char *freeze;
    bool begins; /* a process can be made in it */
} kinds[] = {
    {"/sys/fs/cgroup",         ":",       "/cgroup.controllers",    "memory.max",            "memory.swap.max", "cgroup.freeze",
     true                                                                                                                             },
    {"/sys/fs/cgroup/unified", ":",       "/cgroup.controllers",    "memory.max",            "memory.swap.max",
     "cgroup.freeze",                                                                                                            true },
    {"/sys/fs/cgroup/memory",  "memory:", "/memory.limit_in_bytes", "memory.limit_in_bytes",
     "memory.memsw.limit_in_bytes",                                                                             NULL,            false},
};

struct tree {
    const struct kind *kind; /* NULL: none */
    char *top;               /* the folder that holds the hosts' groups */
};

struct cgroups {
    size_t n;
    struct tree begin; /* version 2: processes begin there, and can be frozen */
    struct tree limit; /* has the memory limits; may be the same folder */
    int *folders;      /* of `begin`, -1: none */
};

static char *group_path(const struct tree *t, size_t host, const char *file)
{
    return file ? mem_printf("%s/%zu/%s", t->top, host, file) : mem_printf("%s/%zu", t->top, host);
}

static int put(const char *path, const char *text)
{
    auto_fd int fd = open(path, O_WRONLY | O_CLOEXEC);

    return fd < 0 ? -errno : fd_write_all(fd, text, strlen(text));
}

/* ---- removal ---- */

/* A group that was busy until just now: the kernel tells of its change. */
static void remove_group(const char *path)
{
    auto_free char *events = path_join(path, "cgroup.events");
    auto_fd int fd = open(events, O_RDONLY | O_CLOEXEC);

    for (int i = 0; i < EMPTY_TRIES && rmdir(path) < 0 && errno == EBUSY && fd >= 0; i++) {
        struct pollfd changed = {.fd = fd, .events = POLLPRI};
        char text[64];

        (void)!pread(fd, text, sizeof(text), 0);
        if (rmdir(path) == 0)
            return;
        (void)poll(&changed, 1, EMPTY_LIMIT_MS);
    }
}

static void remove_top(const char *top)
{
    auto_strv struct strv names = {0};

    (void)folder_list(top, ENTRIES_MAX, &names);
    for (size_t i = 0; i < names.n; i++) {
        auto_free char *path = path_join(top, names.v[i]);

        if (file_is_folder(path))
            remove_group(path);
    }
    remove_group(top);
}

/* Those of a caller that was killed. */
static void sweep(const char *folder)
{
    auto_strv struct strv names = {0};

    (void)folder_list(folder, ENTRIES_MAX, &names);
    for (size_t i = 0; i < names.n; i++) {
        auto_free char *path = path_join(folder, names.v[i]);
        long pid = strncmp(names.v[i], PREFIX, sizeof(PREFIX) - 1) == 0
                       ? strtol(names.v[i] + sizeof(PREFIX) - 1, NULL, 10)
                       : 0;

        if (pid > 0 && kill((pid_t)pid, 0) < 0 && errno == ESRCH)
            remove_top(path);
    }
}

/* ---- finding a place ---- */

/* The own group as /proc/self/cgroup has it, to free(); NULL: not in this hierarchy. */
static char *own_path(const struct kind *kind)
{
    auto_free char *text = file_read("/proc/self/cgroup", FILE_MAX_BYTES, NULL, NULL);
    auto_free char *proof = mem_printf("%s%s", kind->mount, kind->proof);
    char *rest = NULL;

    if (!text || !file_exists(proof))
        return NULL;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        const char *list = strchr(line, ':');

        if (list && strncmp(list + 1, kind->line, strlen(kind->line)) == 0)
            return mem_dup(list + 1 + strlen(kind->line));
    }
    return NULL;
}

/* Whether a process of ours may go there is known only by doing it. */
static bool can_enter(const struct kind *kind, const char *group)
{
    auto_fd int folder = kind->begins ? open(group, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    auto_free char *members = path_join(group, "cgroup.procs");
    pid_t pid = kind->begins && folder < 0 ? -1 : ns_clone(0, NULL, folder);
    int status = 1;

    if (pid == 0)
        _exit(kind->begins ? 0 : put(members, "0") != 0);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return pid > 0 && status == 0;
}

static bool try_top(const struct kind *kind, const char *top, size_t n, bool memory)
{
    auto_free char *control = path_join(top, "cgroup.subtree_control");
    const struct tree t = {kind, (char *)top};

    if (mkdir(top, 0755) < 0)
        return false;
    if (memory && kind->begins)
        (void)put(control, "+memory");
    for (size_t i = 0; i < n; i++) {
        auto_free char *group = group_path(&t, i, NULL);
        auto_free char *limit = group_path(&t, i, kind->limit);

        if (mkdir(group, 0755) < 0 || (memory && access(limit, W_OK) < 0) ||
            (i == 0 && !can_enter(kind, group)))
            return false;
    }
    return true;
}

/* The caller's own group, else the nearest above it. */
static bool find(const struct kind *kind, size_t n, bool memory, struct tree *out)
{
    static unsigned made; /* racks of one process do not share a name */
    auto_free char *own = own_path(kind);

    while (own) {
        auto_free char *folder = mem_printf("%s%s", kind->mount, strcmp(own, "/") ? own : "");
        auto_free char *top = mem_printf("%s/" PREFIX "%d-%u", folder, (int)getpid(), ++made);
        char *up;

        sweep(folder);
        if (try_top(kind, top, n, memory)) {
            *out = (struct tree){kind, TAKE(top)};
            return true;
        }
        remove_top(top);
        if (strcmp(own, "/") == 0)
            return false;
        up = path_parent(own);
        free(own);
        own = up;
    }
    return false;
}

struct cgroups *cgroups_open(size_t n, bool memory, struct err *err)
{
    struct cgroups *c = mem_zero(sizeof(*c));

    c->n = n;
    c->folders = mem_grow(NULL, n, sizeof(*c->folders));
    memset(c->folders, -1, n * sizeof(*c->folders));
    for (size_t i = 0; memory && i < LENGTH(kinds) && !c->limit.kind; i++)
        (void)find(&kinds[i], n, true, &c->limit);
    if (memory && !c->limit.kind) {
        (void)err_set(err, BLAME_PLATFORM, -EOPNOTSUPP,
                      "memory limits need a control group that this user may divide (as root, or "
                      "under systemd-run --user --scope -p Delegate=yes)");
        cgroups_close(c);
        return NULL;
    }
    if (c->limit.kind && c->limit.kind->begins)
        c->begin = (struct tree){c->limit.kind, mem_dup(c->limit.top)};
    for (size_t i = 0; i < LENGTH(kinds) && !c->begin.kind; i++)
        if (kinds[i].begins)
            (void)find(&kinds[i], n, false, &c->begin);
    return c;
}

void cgroups_prepare(struct cgroups *c)
{
    for (size_t i = 0; i < c->n && c->begin.kind; i++) {
        auto_free char *path = group_path(&c->begin, i, NULL);

        c->folders[i] = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    }
}

/* ---- use ---- */

int cgroups_folder(const struct cgroups *c, size_t host)
{
    return c->folders[host];
}

int cgroups_limit(const struct cgroups *c, size_t host, long mib, struct err *err)
{
    auto_free char *limit = group_path(&c->limit, host, c->limit.kind->limit);
    auto_free char *swap = group_path(&c->limit, host, c->limit.kind->swap);
    auto_free char *text = mem_printf("%lld", (long long)mib << 20);
    int rc = put(limit, text);

    if (rc)
        return err_set(err, BLAME_PLATFORM, rc, "%s: %s", limit, strerror(-rc));
    /* Version 1 counts both together. Neither file is there without swap. */
    (void)put(swap, c->limit.kind->begins ? "0" : text);
    return 0;
}

int cgroups_enter(const struct cgroups *c, size_t host, pid_t pid)
{
    auto_free char *members = NULL;
    auto_free char *text = mem_printf("%d", (int)pid);

    if (!c->limit.kind || c->limit.kind->begins)
        return 0;
    members = group_path(&c->limit, host, "cgroup.procs");
    return put(members, text);
}

bool cgroups_freeze(const struct cgroups *c, size_t host, bool on)
{
    auto_free char *path = NULL;

    if (c->folders[host] < 0)
        return false;
    path = group_path(&c->begin, host, c->begin.kind->freeze);
    return put(path, on ? "1" : "0") == 0;
}

void cgroups_close(struct cgroups *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->n; i++)
        cleanup_fd(&c->folders[i]);
    if (c->begin.top)
        remove_top(c->begin.top);
    if (c->limit.top)
        remove_top(c->limit.top);
    free(c->begin.top);
    free(c->limit.top);
    free(c->folders);
    free(c);
}
