/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "emulator/state.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/files.h"
#include "base/mem.h"
#include "base/strv.h"
#include "emulator/folders.h"

#define LOCK_NAME   "lock"
#define PREFIX      "serry-emulate-"
#define ENTRIES_MAX 100000 /* looked at when sweeping */

enum owner { OWNER_NONE, OWNER_ALIVE, OWNER_DEAD };

/* A folder of another user is never taken for a dead one's. */
static enum owner owner_of(const char *path)
{
    auto_free char *name = path_join(path, LOCK_NAME);
    auto_fd int fd = -1;
    struct stat folder, st;

    if (lstat(path, &folder) < 0 || !S_ISDIR(folder.st_mode) || folder.st_uid != geteuid())
        return OWNER_NONE;
    fd = open(name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid())
        return OWNER_NONE;
    return flock(fd, LOCK_EX | LOCK_NB) < 0 ? OWNER_ALIVE : OWNER_DEAD;
}

static const char *parent_folder(void)
{
    const char *folder = getenv("TMPDIR");

    return folder && *folder == '/' ? folder : "/tmp";
}

static void sweep(const char *parent)
{
    auto_strv struct strv names = {0};

    if (folder_list(parent, ENTRIES_MAX, &names))
        return;
    for (size_t i = 0; i < names.n; i++) {
        auto_free char *path = path_join(parent, names.v[i]);

        if (!strncmp(names.v[i], PREFIX, strlen(PREFIX)) && owner_of(path) == OWNER_DEAD)
            (void)folders_remove(path);
    }
}

char *state_find(struct err *err)
{
    auto_strv struct strv names = {0};
    auto_strv struct strv alive = {0};
    auto_free char *all = NULL;

    (void)folder_list(parent_folder(), ENTRIES_MAX, &names);
    for (size_t i = 0; i < names.n; i++) {
        auto_free char *path = path_join(parent_folder(), names.v[i]);

        if (!strncmp(names.v[i], PREFIX, strlen(PREFIX)) && owner_of(path) == OWNER_ALIVE)
            strv_add(&alive, path);
    }
    if (alive.n == 1)
        return mem_dup(alive.v[0]);
    all = strv_join(&alive, ", ");
    (void)err_set(err, BLAME_USER, -ENOENT,
                  alive.n ? "several emulations run (%s): --state tells which"
                          : "no emulation of this user runs below %s",
                  alive.n ? all : parent_folder());
    return NULL;
}

/* Under another name until it is locked, so that nobody sees it without its owner. The rack has the
 * lock too, as a child of ours, and ends with us. */
static int take_lock(struct state *s, struct err *err)
{
    auto_free char *name = path_join(s->path, LOCK_NAME);
    auto_free char *new = mem_printf("%s.new", name);

    s->lock = open(new, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (s->lock >= 0 && !flock(s->lock, LOCK_EX | LOCK_NB) && !rename(new, name))
        return 0;
    return err_set(err, BLAME_PLATFORM, -errno, "%s cannot be made: %s", name, strerror(errno));
}

static int make_new(struct state *s, struct err *err)
{
    auto_free char *path = mem_printf("%s/" PREFIX "XXXXXX", parent_folder());

    if (!mkdtemp(path))
        return err_set(err, BLAME_PLATFORM, -errno, "%s cannot be made: %s", path, strerror(errno));
    s->made = true;
    s->path = mem_check(realpath(path, NULL));
    return 0;
}

static int make_named(struct state *s, const char *path, struct err *err)
{
    auto_strv struct strv names = {0};
    enum owner owner = owner_of(path);

    if (owner == OWNER_ALIVE)
        return err_set(err, BLAME_USER, -EBUSY, "%s: an emulation runs there", path);
    if (owner == OWNER_DEAD)
        (void)folders_remove(path);
    s->made = !mkdir(path, 0700);
    if (!s->made && errno != EEXIST)
        return err_set(err, BLAME_PLATFORM, -errno, "%s cannot be made: %s", path, strerror(errno));
    if (folder_list(path, 1, &names) || names.n)
        return err_set(err, BLAME_USER, -ENOTEMPTY, "%s: expected a new or empty folder", path);
    s->path = realpath(path, NULL);
    return s->path ? 0 : err_set(err, BLAME_PLATFORM, -errno, "%s: %s", path, strerror(errno));
}

int state_open(struct state *s, const char *path, bool keep, struct err *err)
{
    struct state made = {.lock = -1, .keep = keep};

    sweep(parent_folder());
    if ((path ? make_named(&made, path, err) : make_new(&made, err)) ||
        (!keep && take_lock(&made, err))) {
        made.keep = false;
        (void)state_close(&made);
        return err->code;
    }
    *s = made;
    return 0;
}

/* All in a folder that is not ours to remove. */
static int empty(const char *path)
{
    auto_strv struct strv names = {0};
    int rc = folder_list(path, ENTRIES_MAX, &names);

    for (size_t i = 0; i < names.n; i++) {
        auto_free char *entry = path_join(path, names.v[i]);
        int one = unlink(entry) < 0 ? folders_remove(entry) : 0;

        rc = rc ? rc : one;
    }
    return rc;
}

int state_close(struct state *s)
{
    int rc = 0;

    if (s->path && !s->keep)
        rc = s->made ? folders_remove(s->path) : empty(s->path);
    if (s->lock >= 0)
        (void)close(s->lock);
    free(s->path);
    *s = (struct state){.lock = -1};
    return rc;
}
