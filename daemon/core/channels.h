/* SPDX-License-Identifier: Apache-2.0
 *
 * channels - inputdataconfig.json: the names of the channels and where their data lie.
 *
 * What a channel's object holds is passed on unread. Source: docs/contract.md, section 2.
 */
#ifndef CORE_CHANNELS_H
#define CORE_CHANNELS_H
#include <cjson/cJSON.h>

struct job;

/* Fills job->channels. `file` is the object of the file, NULL for none. */
void channels_read(struct job *job, const cJSON *file);
/* <base>/input/data/CHANNEL, to free(). */
char *channels_folder(const struct job *job, const char *channel);
#endif
