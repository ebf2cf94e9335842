/* SPDX-License-Identifier: Apache-2.0
 *
 * resources - resourceconfig.json: hosts, groups, interface, and who takes part in the
 * distribution.
 *
 * Source: docs/contract.md, sections 2 and 6. */
#ifndef CORE_RESOURCES_H
#define CORE_RESOURCES_H
#include <cjson/cJSON.h>

struct findings;
struct job;

/* Fills the resource part of `job`, from the view of `as_host` (NULL: current_host). `file` is the
 * object of the file; NULL leaves all of it empty, and says nothing: the reader of the file did.
 * Hyperparameters and facts are known already. */
void resources_read(struct job *job, const cJSON *file, const char *as_host,
                    struct findings *findings);
#endif
