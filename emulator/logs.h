/* SPDX-License-Identifier: Apache-2.0
 *
 * logs - what the hosts' daemons say, as whole lines on our own output.
 *
 * A rank's line has the host in its label already ("[algo-1:3] ..."); any other gets "[algo-1] " in
 * front. Order is kept per stream. Writing blocks: a slow reader slows the hosts' output. */
#ifndef EMULATOR_LOGS_H
#define EMULATOR_LOGS_H
#include <stddef.h>

struct logs;
struct strv;

#define LOGS_LINE_MAX ((size_t)64 << 10) /* bytes; a longer line is shown in pieces */

/* `fds` take the lines of the hosts' standard output (stream 1) and error (stream 2); one that
 * cannot be written any more is left alone. `names` is borrowed. */
struct logs *logs_open(const struct strv *names, const int fds[2]);
void logs_feed(struct logs *l, size_t host, int stream, const char *bytes, size_t n);
/* The host has ended: shows what has no line end. */
void logs_end(struct logs *l, size_t host);
void logs_close(struct logs *l);
#endif
