/* SPDX-License-Identifier: Apache-2.0
 *
 * hyper - hyperparameters.json: decodes each value and tells the three kinds apart.
 *
 * Keys named serried_* are our own settings (input/settings) and leave no trace here.
 * Source: docs/contract.md, sections 3 and 4; field cases 01 and 02. */
#ifndef CORE_HYPER_H
#define CORE_HYPER_H
#include <cjson/cJSON.h>

struct findings;
struct job;

/* Fills the hyperparameter part of `job`. `file` is the object of the file, NULL for none. The
 * job's layer, container and base are known already. */
void hyper_read(struct job *job, const cJSON *file, struct findings *findings);
#endif
