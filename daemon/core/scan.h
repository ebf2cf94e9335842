/* SPDX-License-Identifier: Apache-2.0
 *
 * scan - finds the error in a rank's last words.
 *
 * Works on the kept tail of a stream, after the end, so that no line costs anything while the job
 * runs. No key words: a block that a runtime writes when it dies (a Python traceback, a
 * SyntaxError, a C++ exception, a panic, a fatal signal's report), or else the last line (W7).
 * Lines end at \n or \r. */
#ifndef CORE_SCAN_H
#define CORE_SCAN_H
#include <stdbool.h>
#include <stddef.h>

struct scan {
    bool traceback;  /* a Python traceback was found, and nothing fatal of another kind later */
    bool fatal;      /* the block is that of a C++ exception, a panic, an abort or a fatal signal */
    size_t from, to; /* the block's bytes in the tail (to: past the last byte); of chained
                        exceptions from the first one on */
    size_t error_from, error_to; /* its final line, "ValueError: bad shard", of a message of several
                                    lines the first that says something; without a block the last
                                    line that is not blank */
    size_t line_from, line_to;   /* the last line that is not blank */
    bool last;                   /* nothing follows the block but blank lines, more of its message
                                    and what a dying program says */
    unsigned after;              /* other lines behind it: its message goes on, or the program */
    bool cut;         /* the tail ends within the block: the final line is missing, or half a one */
    bool consequence; /* the error is of the kind that a peer's death causes: connection reset or
                         refused, broken pipe, collective time-out, NCCL remote error ... */
};

/* `tail` may begin in the middle of a line and hold any bytes. Of chained exceptions the last
 * block counts, of a block repeated by several layers the innermost final line. */
void scan_tail(const char *tail, size_t n, struct scan *out);
/* The same; a traceback that has begun within `n` bytes is read to its end, within `all`. */
void scan_begun(const char *tail, size_t n, size_t all, struct scan *out);
bool scan_is_consequence(const char *error, size_t n);
/* Length of the "[rank3]: " that PyTorch puts before a line of its traceback; 0: none. */
size_t scan_rank_prefix(const char *line, size_t n);
#endif
