/* SPDX-License-Identifier: Apache-2.0
 *
 * fit - what the kernel can hand to a program, and what is done with the rest.
 *
 * A variable that is too long by itself, or the longest ones when all together are too much, become
 * files of the plan; NAME_FILE names the file. Source: field case 04, CONTRACT.md W21. */
#ifndef CORE_FIT_H
#define CORE_FIT_H
#include <stddef.h>

struct findings;
struct job;
struct plan;

/* Linux refuses an argument or NAME=VALUE of more bytes (MAX_ARG_STRLEN with its NUL). */
#define FIT_STRING_MAX 131071
/* Bytes of all arguments and variables, pointers to them included: a quarter of the usual stack
 * limit, less room for what a rank gets beyond this plan. */
#define FIT_TOTAL_MAX ((size_t)(2048 - 256) << 10)

/* Sets NAME in plan->environment, or NAME_FILE if it is too long. */
void fit_set(const struct job *job, struct plan *plan, const char *name, const char *value,
             struct findings *findings);
/* Once all is set: an argument that is too long is fatal; what is too much in all moves to files,
 * and is fatal if that does not help. */
void fit_check(const struct job *job, struct plan *plan, struct findings *findings);
#endif
