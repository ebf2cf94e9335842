/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "emulator/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/strv.h"

#define PLACE_FIELD 4 /* of a line of mountinfo, from 0 */

/* As the kernel has them: the C library's own came later than the call. */
struct attributes {
    uint64_t set, clear, propagation, user_ns;
};
#define ATTRIBUTE_READ_ONLY 0x1U
#ifndef AT_RECURSIVE
#define AT_RECURSIVE 0x8000
#endif
#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif

static int failed(struct err *err, const char *what, const char *at)
{
    int code = -errno;

    return err_set(err, BLAME_PLATFORM, code, "mount %s on %s: %s", what, at, strerror(-code));
}

int mounts_bind(const char *from, const char *to, struct err *err)
{
    /* Without MS_REC a user namespace may not: it would uncover what is mounted over. */
    return mount(from, to, NULL, MS_BIND | MS_REC, NULL) < 0 ? failed(err, from, to) : 0;
}

int mounts_bind_read_only(const char *from, const char *to, struct err *err)
{
    int rc = mounts_bind(from, to, err);

    return rc ? rc : mounts_read_only(to, err);
}

int mounts_bind_fd(int from, const char *to, struct err *err)
{
    auto_free char *path = mem_printf("/proc/self/fd/%d", from);

    return mounts_bind(path, to, err);
}

int mounts_memory(const char *at, const char *options, struct err *err)
{
    return mount("tmpfs", at, "tmpfs", MS_NOSUID | MS_NODEV, options) < 0 ? failed(err, "tmpfs", at)
                                                                          : 0;
}

int mounts_read_only(const char *at, struct err *err)
{
    const struct attributes a = {.set = ATTRIBUTE_READ_ONLY};

    if (syscall(SYS_mount_setattr, AT_FDCWD, at, AT_RECURSIVE, &a, sizeof(a)) == 0)
        return 0;
    return errno == ENOSYS ? err_set(err, BLAME_PLATFORM, -ENOSYS, "Linux 5.12 is needed")
                           : failed(err, "read-only", at);
}

int mounts_kernel(const char *type, const char *at, const char *options, struct err *err)
{
    unsigned long flags = MS_NOSUID | MS_NOEXEC;

    if (strcmp(type, "devpts") != 0)
        flags |= MS_NODEV;
    return mount(type, at, type, flags, options) < 0 ? failed(err, type, at) : 0;
}

/* Spaces and the like are written as \040. */
static char *unescape(const char *text, size_t n)
{
    char *out = mem_zero(n + 1);
    char *to = out;

    for (size_t i = 0; i < n; i++) {
        char digits[4] = "";

        if (text[i] != '\\' || i + 3 >= n) {
            *to++ = text[i];
            continue;
        }
        memcpy(digits, text + i + 1, 3);
        *to++ = (char)strtol(digits, NULL, 8);
        i += 3;
    }
    return out;
}

static bool is_below(const char *path, const char *top)
{
    size_t n = strlen(top);

    return strncmp(path, top, n) == 0 && path[n] == '/';
}

void mounts_below(const char *table, const char *top, struct strv *places)
{
    for (const char *line = table; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        const char *field = line;
        auto_free char *place = NULL;
        bool known = false;

        for (int i = 0; i < PLACE_FIELD; i++)
            field += strcspn(field, " \n"), field += *field == ' ';
        place = unescape(field, strcspn(field, " \n"));
        for (size_t i = 0; i < places->n && !known; i++)
            known = strcmp(places->v[i], place) == 0 || is_below(place, places->v[i]);
        if (!known && is_below(place, top))
            strv_add(places, place);
    }
}
