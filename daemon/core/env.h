/* SPDX-License-Identifier: Apache-2.0
 *
 * env - the table of SM_* and the other variables that the user's program gets.
 * Source: docs/contract.md, sections 7 and 8. */
#ifndef CORE_ENV_H
#define CORE_ENV_H
#include "base/strv.h"

struct job;
struct plan;
struct findings;

/* Fills plan->environment, aliases, user_args, filled and left_alone. Variables that a user tunes
 * (NCCL_*, OMP_NUM_THREADS, ...) are set only where the container has none (field case 09). */
void env_build(const struct job *job, struct plan *plan, struct findings *findings);
/* The arguments of section 8.2. */
void args_build(const struct job *job, struct strv *out);
/* Has NAME=VALUE a name that shells allow? Others get a second one. */
bool env_is_legal(const char *entry);
/* Sets NAME in plan->environment unless the container has it, and notes which. */
void env_fill(const struct job *job, struct plan *plan, const char *name, const char *value);
#endif
