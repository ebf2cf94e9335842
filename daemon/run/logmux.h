/* SPDX-License-Identifier: Apache-2.0
 *
 * logmux - the output of all ranks: whole lines to the console, the original bytes to files, the
 * last words kept. Source: docs/contract.md, section 14; field cases 19 to 25.
 *
 * One read buffer serves all streams. A stream that a full console holds up is not read, which
 * slows its rank and nothing else. Costs nothing for each line but finding its end and copying it.
 * What counts as a line is core/lines' business, what stands before it core/logform's.
 * A line longer than log.line_max comes in pieces: every piece but the last ends with a backslash,
 * every piece but the first begins with one behind its prefix:
 *     [algo-1:3] aaaa\
 *     [algo-1:3] \bbbb\
 *     [algo-1:3] \cccc
 * Without those backslashes, prefixes and line ends the pieces are the line, byte for byte. In JSON
 * they carry "cut":true instead, all but the last.
 */
#ifndef RUN_LOGMUX_H
#define RUN_LOGMUX_H
#include "core/settings.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

struct logmux;
struct log_stream;

struct log_source {
    const char *host;
    unsigned rank, local_rank;
    const char *step; /* name shown in place of the rank for a step; NULL: a rank */
    bool is_err;      /* stderr: goes to our stderr, and is searched for tracebacks */
    int fd;           /* read end, non-blocking; owned from now on */
    char *path;       /* file for the original bytes, taken over; NULL: none. Its folder is made */
    void (*on_eof)(void *data); /* once, also from within logmux_drain(); not for a cut stream */
    void *data;
};

/* `labelled`: more than one rank in the job, so that prefix "auto" means one. `settings` must
 * outlive it. */
struct logmux *logmux_open(uv_loop_t *loop, const struct settings *settings, bool labelled);
/* The same with other descriptors for standard output and error; they stay the caller's. */
struct logmux *logmux_open_to(uv_loop_t *loop, const struct settings *settings, bool labelled,
                              int out_fd, int err_fd);
/* A stream lives as long as the mux: what it was can be asked after its end. */
struct log_stream *logmux_add(struct logmux *m, const struct log_source *source);
/* A whole line of our own to standard error, in order with the ranks' lines there. */
void logmux_own_line(void *logmux, const char *line, size_t n);
/* Sends what is buffered for the console. The loop does so before it waits, except for what was
 * written in that very moment, by a prepare callback: that caller calls this. */
void logmux_flush(struct logmux *m);
/* Reads what is in the pipe now, until it would block or has ended, past a full console (bounded by
 * the pipe's size): nothing that a dead rank wrote is lost. */
void logmux_drain(struct log_stream *s);
bool logmux_at_eof(const struct log_stream *s);
/* Ends the stream although someone still holds the pipe's other end: the held line is written. */
void logmux_cut(struct log_stream *s);
/* The last words, copied, to free(); at most 32 KiB. */
char *logmux_tail(const struct log_stream *s, size_t *len);
uint64_t logmux_error_ms(const struct log_stream *s); /* when the last traceback began to arrive */
size_t logmux_total(const struct log_stream *s);      /* bytes so far */
uint64_t logmux_last_ms(const struct log_stream *s);  /* when the last byte came */
/* Shows the last lines of a rank that the console filter hides (it failed), with its prefix. */
void logmux_show_tail(struct logmux *m, const struct log_stream *s);
/* Writes out what is pending and calls `on_done` once the console has taken it, or when nothing was
 * taken for `idle_ms`, or at `deadline_ms` (CLOCK_MONOTONIC; 0: none). */
/* Streams that have not ended are cut. Bytes that were not taken are lost, and a warning says how
 * many. `on_done` is called from the loop. */
void logmux_finish(struct logmux *m, uint64_t idle_ms, uint64_t deadline_ms,
                   void (*on_done)(void *data), void *data);
/* After logmux_finish(): closes handles; frees itself and its streams in the last close callback.
 * log_to() must name another writer before. NULL is fine. */
void logmux_close(struct logmux *m);
#endif
