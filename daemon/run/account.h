/* SPDX-License-Identifier: Apache-2.0
 *
 * account - tells how the job ended: has core/verdict judge it, writes failure or success, says it
 * on the console. The way the job was refused goes through here too. */
#ifndef RUN_ACCOUNT_H
#define RUN_ACCOUNT_H
#include <stdbool.h>

struct crew;
struct finding;
struct inputs;
struct memory_watch;
struct output;

struct account {
    const struct inputs *in;
    struct output *output; /* NULL: the host's name is not known, so there is no place yet */
    struct crew *crew;     /* without tasks: nothing was to run */
    const struct memory_watch *memory;
    const struct finding
        *refused;     /* why the job cannot be run, all there is to say; NULL: it was */
    bool stopped;     /* before any failure */
    bool early_final; /* ended because a rank left early */
};

/* The exit status. */
int account_give(const struct account *a);
#endif
