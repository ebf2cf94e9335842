/* SPDX-License-Identifier: Apache-2.0
 *
 * logfile - a stream's file with the original bytes: whole up to a bound, then head and tail.
 *
 * The file is never longer than the bound. Once it is reached, the last part of the file is written
 * round and round; a line "[serried: N bytes left out here ...]" of LOGFILE_MARK bytes stands
 * before it, and logfile_close() puts the bytes behind that line in order. */
#ifndef RUN_LOGFILE_H
#define RUN_LOGFILE_H
#include <stddef.h>
#include <stdint.h>

struct logfile;

#define LOGFILE_MARK  ((size_t)80)       /* bytes, with the line ends before and behind it */
#define LOGFILE_TAIL  ((size_t)4 << 20)  /* bytes of the tail, at most: half of the file */
#define LOGFILE_LEAST (4 * LOGFILE_MARK) /* a smaller bound is taken for this one */

/* An empty file at `path`, made with its folders, that will hold at most `max` bytes. NULL with
 * `*code` set to a negative errno. */
struct logfile *logfile_open(const char *path, size_t max, int *code);
/* 0 or a negative errno: the file is as good as it will get, close it. */
int logfile_write(struct logfile *f, const char *bytes, size_t n);
/* NULL is fine. 0 or a negative errno. */
int logfile_close(struct logfile *f);
#endif
