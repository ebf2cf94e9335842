/* SPDX-License-Identifier: Apache-2.0
 *
 * outcome - how one rank or step ended, with all the evidence there is. A plain value that the run
 * layer fills; core/verdict judges it. Times are CLOCK_MONOTONIC milliseconds, 0: never. */
#ifndef CORE_OUTCOME_H
#define CORE_OUTCOME_H
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What core/evidence would find in an outcome, of one that another host has told of. */
struct witness {
    int weight; /* enum evidence_weight */
    uint64_t when;
    bool told, our_signal;
    char *message, *detail; /* never NULL */
};

struct outcome {
    unsigned rank;
    unsigned local_rank;
    const char *host;    /* borrowed */
    const char *step;    /* name of a step; NULL: a rank. Borrowed */
    const char *program; /* "torchrun": it stands for `ranks` ranks that it starts; else NULL */
    unsigned ranks;
    pid_t pid;
    bool started; /* false: `spawn_error` says why, or it was never tried */
    bool ended;
    bool leader;                /* of a host that is lost: it was the leader */
    enum err_blame spawn_blame; /* whose fault it is that it could not be started */
    char *spawn_error;          /* "exec of ./train.sh: Permission denied", NULL if started */
    int exit_code;              /* 0 to 255; -1 if it was killed by a signal */
    int signal;                 /* 0: none */
    uint64_t start_ms;
    uint64_t end_ms;
    uint64_t told_ms;    /* when we sent it the first ending signal */
    uint64_t killed_ms;  /* when we sent it SIGKILL */
    unsigned overdue_s;  /* we ended it because it had not finished in so many seconds; 0: no */
    uint64_t error_ms;   /* when the last traceback on its stderr began to arrive */
    uint64_t elastic_ms; /* time of its torchelastic error file */
    char *elastic_text;  /* that file's message, UTF-8, maybe with a traceback; NULL: no file */
    char *last_err;      /* last bytes of stderr as they came, NUL-ended; NULL: none */
    size_t last_err_len;
    size_t told_err_len; /* how many bytes of stderr in all had come when told_ms was set */
    uint64_t words_ms;   /* ... and when the last of them came; 0: not known */
    size_t total_err;    /* bytes of stderr in all */
    char *last_out;      /* the same of stdout */
    size_t last_out_len;
    long max_rss_kib;
    struct witness *witness; /* NULL: the evidence is here */
    char *lost; /* it stands for a whole host: why that is lost ("connection closed"), with `end_ms`
                   its last sign of life; NULL: it is no host */
    const struct memory_facts *memory; /* of its host, borrowed; NULL: this host's */
};

/* What the memory controller counted during the job. */
struct memory_facts {
    bool readable;   /* false: `why` says which file could not be read */
    long oom_kills;  /* counted since the start of the job */
    long long limit; /* bytes; 0: no limit known */
    char why[160];
};

void outcome_done(struct outcome *o);
void witness_free(struct witness *w);
/* "exit code 3", "signal 11 (SIGSEGV)", "could not be started", "not finished after 60 s", "lost:
 * connection closed"; to free(). */
char *outcome_text(const struct outcome *o);
/* 69 for a host that is lost; else the status a container exits with for it: 1 to 255, 128+signal;
 * 0 if it ended well; 1 if it was overdue, 127 if it could not be started, 137 if it never ended.
 */
int outcome_status(const struct outcome *o);
/* "SIGSEGV", "SIGRTMIN+3"; "signal 99" where it has no name. `text` of 16 bytes at least. */
const char *outcome_signal_name(int signal, char *text, size_t size);
/* One line of help for a signal ("look at shared memory ..."), NULL if there is none. */
const char *outcome_signal_help(int signal);
#endif
