/* SPDX-License-Identifier: Apache-2.0
 *
 * folders - whole folders: copied within bounds, removed. Symbolic links are never followed below
 * the folder that is named. */
#ifndef EMULATOR_FOLDERS_H
#define EMULATOR_FOLDERS_H
#include <sys/types.h>

struct err;

#define FOLDERS_DEPTH_MAX 128

/* What may be copied, and what is left of it after each copy. */
struct folders_bound {
    size_t entries;
    off_t bytes;
};

/* Copies what is in `from` into the folder `to`, which is there: files with mode and time, links as
 * they are; sockets, pipes and devices are left out, and so is the folder `without` (NULL is fine),
 * so that a copy never holds itself. BLAME_CONFIG: what cannot be read, what is too much;
 * BLAME_PLATFORM: what cannot be written. */
int folders_copy(const char *from, const char *to, const char *without, struct folders_bound *bound,
                 struct err *err);
/* One regular file. */
int folders_copy_file(const char *from, const char *to, struct folders_bound *bound,
                      struct err *err);
/* Removes the folder and all in it, as far as it can. 0, or the first negative errno; a folder that
 * is not there is fine. */
int folders_remove(const char *path);
#endif
