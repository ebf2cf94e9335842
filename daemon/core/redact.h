/* SPDX-License-Identifier: Apache-2.0
 *
 * redact - which names are secret, and their values masked wherever we print.
 *
 * A set of secret texts is collected from the job (redact_learn) and then taken out of any text.
 * Values shorter than 4 bytes are masked only where their name stands. */
#ifndef CORE_REDACT_H
#define CORE_REDACT_H
#include "base/strv.h"

#include <cjson/cJSON.h>
#include <stdbool.h>

struct job;

#define REDACT_MASK "******"

/* Does a variable, key or option of this name hold a secret (PASSWORD, TOKEN, SECRET, ...)? */
bool redact_is_secret_name(const char *name);
struct redact; /* the secret texts of one job */
struct redact *redact_new(void);
void redact_free(struct redact *r);
void redact_learn(struct redact *r, const char *secret);
/* From the container's environment and the hyperparameters, at any depth; user:password@ in URLs.
 */
void redact_learn_job(struct redact *r, const struct job *job);
/* A copy of `text` without them, to free(). Also masks NAME=value, --name value is the caller's. */
char *redact_text(const struct redact *r, const char *text);
#endif
