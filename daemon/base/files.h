/* SPDX-License-Identifier: Apache-2.0
 *
 * files - bounded reads, whole writes, folders. Paths in errors are as given. */
#ifndef BASE_FILES_H
#define BASE_FILES_H
#include <stdbool.h>
#include <stddef.h>

struct err;
struct strv;

/* The whole file, NUL-ended (it may hold NULs: `len` tells, NULL is fine), to free(). NULL with
 * `err`: not there (-ENOENT), longer than `max` bytes (-EFBIG), a folder (-EISDIR), unreadable; the
 * blame is BLAME_CONFIG. Never blocks on a FIFO: only regular files are read. */
char *file_read(const char *path, size_t max, size_t *len, struct err *err);
/* Writes all of it to a new or emptied file. 0 or a negative errno. */
int file_write(const char *path, const void *data, size_t n);
/* The same for nobody else to read (mode 0600). */
int file_write_private(const char *path, const void *data, size_t n);
/* Writes to PATH.tmp and renames. 0 or a negative errno; PATH is then as before. */
int file_replace(const char *path, const void *data, size_t n);
/* All bytes to `fd`, past EINTR and short writes. */
int fd_write_all(int fd, const void *data, size_t n);
bool file_exists(const char *path);
bool file_is_folder(const char *path);
/* mkdir -p with mode 0777 less the umask. 0 or a negative errno. */
int folder_make(const char *path);
/* Names in a folder, sorted, without "." and "..", at most `max`. 0 or a negative errno. */
int folder_list(const char *path, size_t max, struct strv *names);
/* The folder that `path` is in: what stands before its last slash, "/" for a name right below it,
 * "." for a name alone. To free(). */
char *path_parent(const char *path);
/* A path of DIR and NAME with one slash between them, to free(). */
char *path_join(const char *dir, const char *name);
/* An absolute path without ".", "..", "//" and a slash at the end, by its words alone, to free().
 */
char *path_normal(const char *path);
/* The first executable regular file NAME in the folders of `path_variable` (NULL: none), to free();
 * a NAME with a slash is looked at as it is. NULL: none. */
char *path_which(const char *name, const char *path_variable);
#endif
