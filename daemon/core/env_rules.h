/* SPDX-License-Identifier: Apache-2.0
 *
 * env_rules - the table of SM_* variables with one value each, and SM_TRAINING_ENV made of it.
 * Source: docs/contract.md, section 7. */
#ifndef CORE_ENV_RULES_H
#define CORE_ENV_RULES_H
#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

struct job;

/* The row at `index`, in the contract's order: its variable (static) and the value, which the
 * caller deletes. The value is NULL where this job has no such variable. False past the end. */
bool env_rule(const struct job *job, size_t index, const char **name, cJSON **value);
#endif
