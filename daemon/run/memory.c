/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "run/memory.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/files.h"
#include "base/mem.h"
#include "base/num.h"

#define FILE_MAX_BYTES ((size_t)64 << 10)
#define V1_NO_LIMIT    (1LL << 60) /* v1 writes "none" as a number near 2^63 */

/* Where each kind of hierarchy has its files; in a container without a cgroup namespace the path in
 * /proc is the host's, and the root itself is ours. */
static const struct kind {
    const char *controller; /* as /proc/self/cgroup has it: v2 has none */
    const char *folder;     /* below the root */
    const char *events;
    const char *limit;
} kinds[] = {
    {"",       "",         "memory.events",      "memory.max"           },
    {"",       "/unified", "memory.events",      "memory.max"           },
    {"memory", "/memory",  "memory.oom_control", "memory.limit_in_bytes"},
};

/* The path in the line "N:CONTROLLERS:PATH" for one controller, to free(); NULL: no such line. */
static char *path_for(const char *cgroups, const char *controller)
{
    for (const char *line = cgroups; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        size_t n = strcspn(line, "\n");
        const char *list = memchr(line, ':', n);
        const char *path = list ? memchr(list + 1, ':', n - (size_t)(list + 1 - line)) : NULL;
        size_t want = strlen(controller);

        if (!path)
            continue;
        for (const char *word = list + 1; word <= path; word += strcspn(word, ",:") + 1)
            if (strcspn(word, ",:") == want && strncmp(word, controller, want) == 0)
                return mem_dup_n(path + 1, n - (size_t)(path + 1 - line));
    }
    return NULL;
}

static void keep_text(char *to, size_t size, const char *text)
{
    size_t n = strnlen(text, size - 1);

    memcpy(to, text, n);
    to[n] = '\0';
}

/* The count of the line "oom_kill N". 0 or a negative errno, with `why`. */
static int read_count(const char *path, long *count, char *why, size_t size)
{
    struct err err = ERR_INIT;
    auto_free char *text = file_read(path, FILE_MAX_BYTES, NULL, &err);
    char *at = text;

    while (at && strncmp(at, "oom_kill ", 9) != 0)
        at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL;
    if (text && !at)
        (void)err_set(&err, BLAME_PLATFORM, -ENODATA, "%s: no line \"oom_kill\"", path);
    if (at) {
        at[strcspn(at, "\n")] = '\0';
        if (!num_integer(at + 9, 0, LONG_MAX, count))
            (void)err_set(&err, BLAME_PLATFORM, -EINVAL, "%s: oom_kill: not a number", path);
    }
    keep_text(why, size, err.text);
    return err.code;
}

/* True if the files are there, below one folder. `why` keeps the first reason against. */
static bool try_folder(struct memory_watch *w, const char *folder, const struct kind *kind)
{
    auto_free char *events = path_join(folder, kind->events);
    auto_free char *limit = path_join(folder, kind->limit);
    char why[sizeof(w->why)] = "the path of the cgroup is too long";

    if (strlen(events) < sizeof(w->events) && strlen(limit) < sizeof(w->limit) &&
        read_count(events, &w->before, why, sizeof(why)) == 0) {
        keep_text(w->events, sizeof(w->events), events);
        keep_text(w->limit, sizeof(w->limit), limit);
        return true;
    }
    if (!*w->why)
        keep_text(w->why, sizeof(w->why), why);
    return false;
}

void memory_open_as(struct memory_watch *w, const char *root, const char *cgroups)
{
    *w = (struct memory_watch){.before = 0};
    for (size_t i = 0; i < LENGTH(kinds); i++) {
        auto_free char *path = path_for(cgroups, kinds[i].controller);
        auto_free char *base = mem_printf("%s%s", root, kinds[i].folder);
        auto_free char *folder = path ? mem_printf("%s%s", base, path) : NULL;

        if ((folder && try_folder(w, folder, &kinds[i])) || try_folder(w, base, &kinds[i])) {
            *w->why = '\0';
            return;
        }
    }
}

void memory_open(struct memory_watch *w, const char *root)
{
    auto_free char *cgroups = file_read("/proc/self/cgroup", FILE_MAX_BYTES, NULL, NULL);

    memory_open_as(w, root, cgroups ? cgroups : "");
}

static long long read_limit(const char *path)
{
    auto_free char *text = file_read(path, FILE_MAX_BYTES, NULL, NULL);
    long long limit = text ? strtoll(text, NULL, 10) : 0; /* v2 writes "max" for none */

    return limit > 0 && limit < V1_NO_LIMIT ? limit : 0;
}

void memory_read(const struct memory_watch *w, struct memory_facts *out)
{
    long now = 0;

    *out = (struct memory_facts){.readable = false};
    if (!*w->events) {
        keep_text(out->why, sizeof(out->why), w->why);
        return;
    }
    if (read_count(w->events, &now, out->why, sizeof(out->why)) < 0)
        return;
    out->readable = true;
    out->oom_kills = now > w->before ? now - w->before : 0;
    out->limit = read_limit(w->limit);
}
