/* SPDX-License-Identifier: Apache-2.0
 *
 * agree - what the hosts of a job must see alike, and the first difference.
 *
 * An object of name to short text: the hosts as a set, those of the distribution in order, the
 * leader, the launcher, the program and its framework module, and a digest for every hyperparameter
 * ("hyperparameters.json: /epochs"). Values of hyperparameters are never in it, only digests: they
 * may be secret. Counts of ranks, groups that the distribution leaves out, the current host and the
 * like may differ. Pure. */
#ifndef CORE_AGREE_H
#define CORE_AGREE_H
#include "base/json.h"

struct job;
struct plan;

#define AGREE_MAX 512 /* members; more hyperparameters than that share one digest */

/* Never NULL; the caller's. */
cJSON *agree_make(const struct job *job, const struct plan *plan);
/* "hyperparameters.json: /epochs is another on algo-2 than on algo-1", "hosts: a,b on algo-2, a,c
 * on algo-1", to free(); NULL: they agree. Neither tree is trusted to be well-formed. */
char *agree_difference(const cJSON *leaders, const char *leader, const cJSON *peers,
                       const char *peer);
#endif
