/* SPDX-License-Identifier: Apache-2.0
 *
 * scan - finds the error in a rank's last words.
 *
 * Works on the kept tail of a stream, after the end, so that no line costs anything while the job
 * runs. No key words: a Python traceback block, or else the last lines (W7). */
#ifndef CORE_SCAN_H
#define CORE_SCAN_H
#include <stdbool.h>
#include <stddef.h>

struct scan {
    bool traceback;              /* a traceback block was found */
    size_t from, to;             /* the block's bytes in the tail (to: past the last byte) */
    size_t error_from, error_to; /* its final line, "ValueError: bad shard"; without a traceback the
                                    last line that is not blank */
    bool last;                   /* nothing but blank lines follows the block */
    bool consequence; /* the error is of the kind that a peer's death causes: connection reset or
                         refused, broken pipe, collective time-out, NCCL remote error ... */
};

/* `tail` may begin in the middle of a line and hold any bytes. Of chained exceptions the last
 * block counts, of a block repeated by several layers the innermost final line. */
void scan_tail(const char *tail, size_t n, struct scan *out);
bool scan_is_consequence(const char *error, size_t n);
#endif
