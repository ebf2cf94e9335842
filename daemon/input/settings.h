/* SPDX-License-Identifier: Apache-2.0
 *
 * settings - gathers our options from where they can stand: the file, the environment, the
 * hyperparameters named serried_*, --set. Later wins. Source: serried.json(5). */
#ifndef INPUT_SETTINGS_H
#define INPUT_SETTINGS_H
#include "core/findings.h"
#include "core/job.h"
#include "core/settings.h"

/* `sets` are the NAME=VALUE words of --set. Faults are fatal findings that name the source; an
 * unknown SERRIED_* variable only warns. The file is $SERRIED_CONFIG (empty: none), else the
 * installed etc/serried/serried.json if there. Calls settings_init() first; settings_done() is the
 * caller's. */
void settings_gather(struct settings *s, const struct tree *tree, const struct strv *container,
                     const struct strv *sets, struct findings *findings);
#endif
