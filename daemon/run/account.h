/* SPDX-License-Identifier: Apache-2.0
 *
 * account - tells how the job ended: has core/verdict judge it, writes failure or success, says it
 * on the console. The way the job was refused goes through here too.
 *
 * The verdict is a message (WIRE_VERDICT): of a job of several hosts, the leader's goes to all, and
 * all publish the same. */
#ifndef RUN_ACCOUNT_H
#define RUN_ACCOUNT_H
#include "core/outcome.h"
#include "core/wire.h"

#include <stdbool.h>

struct crew;
struct err;
struct finding;
struct inputs;
struct output;

struct account {
    const struct inputs *in;
    struct output *output; /* NULL: the host's name is not known, so there is no place yet */
    struct crew *crew;     /* without tasks: nothing was to run */
    const struct outcome *outcomes; /* of this host */
    size_t n;
    const struct memory_facts *memory; /* of this host */
    bool many;                         /* other hosts were called: what they told counts as well */
    const struct wire_message *given;  /* the leader's verdict; NULL: it is found here */
    const struct finding
        *refused;              /* why the job cannot be run, all there is to say; NULL: it was */
    const struct err *trouble; /* what kept the hosts from meeting; NULL: nothing */
    bool stopped;              /* before any failure */
    bool early_final;          /* ended because a rank left early */
};

/* The exit status. */
int account_give(const struct account *a);
#endif
