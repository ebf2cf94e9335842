/* SPDX-License-Identifier: Apache-2.0
 *
 * verdict - the one true account of how a job ended: who was first, and why.
 *
 * First by time and evidence, not by loudness (field case 26): the earliest sign of a fault counts
 * (traceback, error file, exit), a rank that we had already told to stop is a follower unless its
 * own error was there before, and errors of the kind that a peer's death causes never outrank one
 * that is not. */
#ifndef CORE_VERDICT_H
#define CORE_VERDICT_H
#include "base/err.h"
#include "core/outcome.h"

#include <stdbool.h>
#include <stddef.h>

enum verdict_kind { VERDICT_SUCCESS, VERDICT_FAILED, VERDICT_STOPPED };

struct verdict {
    enum verdict_kind kind;
    enum err_blame blame;
    int status;                  /* exit status of the launcher */
    const struct outcome *first; /* the cause; NULL: no rank or step (bad config, stop, success) */
    char *what;                  /* "exit code 3", "killed: out of memory, limit 64.0 MiB", ... */
    char *where;                 /* "rank 3 on algo-1", "step install on algo-1", or "algo-1" */
    char *message; /* the final error line, or the sentence of a struct err; may be "" */
    char *detail;  /* traceback or last lines, valid UTF-8, may be "" */
    char *help;    /* one line of advice, or NULL */
};

/* What ended the job, if it was not a rank: a request to stop, or an error of our own. */
struct verdict_input {
    const struct outcome *outcomes;
    size_t n;
    bool stopped;              /* by signal or request, before any failure */
    const struct err *trouble; /* a fault that is no outcome; NULL: none */
    struct memory_facts memory;
    const char *host;      /* where no rank can be named */
    bool early_exit_final; /* ended because a rank left early (field case 28) */
};
struct verdict *verdict_new(const struct verdict_input *in);
void verdict_free(struct verdict *v);
/* The one of these that the verdict would call the first; NULL: none failed. */
const struct outcome *verdict_first(const struct outcome *outcomes, size_t n);
/* Did it fail, or was ended, because of the cause? */
bool verdict_is_follower(const struct verdict *v, const struct outcome *o);
/* "rank 3 on algo-1", "step install on algo-1", "torchrun on algo-1", "host algo-2", "leader
 * algo-1"; to free(). */
char *verdict_where(const struct outcome *o);
#endif
