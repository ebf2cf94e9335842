/* SPDX-License-Identifier: Apache-2.0
 *
 * redact - which names are secret, and their values masked wherever we print.
 *
 * A set of secret texts is collected from the job (redact_learn) and then taken out of any text.
 * Values shorter than 4 bytes are masked only where their name stands, and so are numbers below 6
 * digits and, under names such as sort_key, words below 6 letters.
 * Source: docs/contract, docs/contract.md, W23. */
#ifndef CORE_REDACT_H
#define CORE_REDACT_H
#include "base/strv.h"

#include <cjson/cJSON.h>
#include <stdbool.h>

struct job;

#define REDACT_MASK "******"

/* Does a variable, key or option of this name hold a secret (PASSWORD, TOKEN, sshkey, ...)? Names
 * of files and the like do not (peer.key_file), nor ordinary kinds (pad_token, sort_key), plurals
 * (max_tokens) and parts of words (monkey). */
bool redact_is_secret_name(const char *name);
/* The same of a name and its value: a number, true or nothing at all is seldom one, and a text
 * under a plural (api_tokens) is. */
bool redact_is_secret(const char *name, const char *value);
struct redact; /* the secret texts of one job */
struct redact *redact_new(void);
void redact_free(struct redact *r);
/* Also learns how the text looks inside JSON, in a list as Python shows it, in JSON within JSON,
 * and inside single quotes of the shell. */
void redact_learn(struct redact *r, const char *secret);
/* From the container's environment and the hyperparameters, at any depth; user:password@ in URLs.
 */
void redact_learn_job(struct redact *r, const struct job *job);
/* A copy of `text` without them, to free(). Also masks what stands before the @ of a URL, the value
 * in NAME=value, "NAME": "value", --NAME value, NAME: value and behind Bearer, and what looks like
 * a well-known kind of token. Time grows with the length only. NULL `r` masks nothing. */
char *redact_text(const struct redact *r, const char *text);
/* A copy of the value of `name`, masked whole if it is a secret, to free(). NULL `r` masks nothing.
 */
char *redact_value(const struct redact *r, const char *name, const char *value);
#endif
