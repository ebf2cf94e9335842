/* SPDX-License-Identifier: Apache-2.0
 *
 * fit - what the kernel can hand to a program, and what is done with the rest.
 *
 * A variable that is too long by itself becomes a file of the plan; NAME_FILE names the file. So
 * do, when all together are too much, the longest of those that repeat others, then the longest
 * SM_HP_* ones, as many as it takes. Source: field case 04, docs/contract.md W21. */
#ifndef CORE_FIT_H
#define CORE_FIT_H
#include <stddef.h>

struct findings;
struct job;
struct plan;

/* Linux refuses an argument or NAME=VALUE of more bytes (MAX_ARG_STRLEN with its NUL). */
#define FIT_STRING_MAX 131071
/* Bytes of all arguments and variables, pointers to them included, where facts.arg_room does not
 * say: a quarter of the usual stack limit, less an eighth for what a rank gets beyond this plan. */
#define FIT_TOTAL_STANDARD ((size_t)(2048 - 256) << 10)

/* Once all but second names are set: an argument that is too long is fatal; variables that are
 * too long, or too much in all, move to files. It is fatal, with nothing moved, if that would not
 * help. */
void fit_check(const struct job *job, struct plan *plan, struct findings *findings);
#endif
