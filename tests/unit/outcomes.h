/* SPDX-License-Identifier: Apache-2.0
 *
 * outcomes - made-up ends of ranks for the tests of verdict and report. Texts are borrowed: no
 * outcome_done(). */
#ifndef UNIT_OUTCOMES_H
#define UNIT_OUTCOMES_H
#include "core/outcome.h"

#include <string.h>

#define TB(error)                                                                                  \
    "Traceback (most recent call last):\n  File \"train.py\", line 3, in <module>\n    "           \
    "main()\n" error "\n"
#define RESET TB("ConnectionResetError: [Errno 104] Connection reset by peer")

/* Started at 0.1 s; `code` -N: killed by signal N. */
static inline struct outcome ended(unsigned rank, int code, uint64_t end_ms, const char *err)
{
    struct outcome o = {.rank = rank,
                        .local_rank = rank,
                        .host = "algo-1",
                        .pid = 100 + (pid_t)rank,
                        .started = true,
                        .ended = true,
                        .exit_code = code < 0 ? -1 : code,
                        .signal = code < 0 ? -code : 0,
                        .start_ms = 100,
                        .end_ms = end_ms};

    o.last_err = (char *)(uintptr_t)err;
    o.last_err_len = o.total_err = err ? strlen(err) : 0;
    return o;
}

/* Told to stop at `told_ms`, when `told_len` bytes of stderr had come. */
static inline struct outcome told(struct outcome o, uint64_t told_ms, size_t told_len)
{
    o.told_ms = told_ms;
    o.told_err_len = told_len;
    return o;
}

/* The last of those bytes came at `words_ms`. */
static inline struct outcome with_words_at(struct outcome o, uint64_t words_ms)
{
    o.words_ms = words_ms;
    return o;
}

static inline struct outcome with_error_at(struct outcome o, uint64_t error_ms)
{
    o.error_ms = error_ms;
    return o;
}
#endif
