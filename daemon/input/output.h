/* SPDX-License-Identifier: Apache-2.0
 *
 * output - the files that a job leaves: failure, success, failure.json, earlier runs aside.
 *
 * Space for the failure file is reserved at the start, so that a full disk changes no verdict (W1).
 * A failure file that appears during the run is the user program's and stays byte for byte. The
 * folders may be gone at the end: they are made again. */
#ifndef INPUT_OUTPUT_H
#define INPUT_OUTPUT_H
#include <cjson/cJSON.h>
#include <stdbool.h>

struct output;

/* Makes <base>/output and <base>/output/data/serried/HOST/{logs,errors}, moves what an earlier run
 * left into .../HOST/earlier-N/, reserves the failure file. Never NULL: what could not be made is
 * warned about in the log and done without. */
struct output *output_new(const char *base, const char *host);
void output_free(struct output *o);
/* Does another daemon run here at this moment, for the same host? Its files are left alone: nothing
 * was made or moved, and nothing will be written. */
bool output_is_taken(const struct output *o);
/* .../serried/HOST, or NULL where it could not be made. Borrowed. */
const char *output_folder(const struct output *o);
/* Path of a rank's stream file ("3.out"), to free(), NULL without a folder. */
char *output_log_path(const struct output *o, unsigned rank, const char *suffix);
/* Writes <base>/output/failure unless the program wrote one, and failure.json, and removes a
 * success file. The first two also when the disk is full, as far as it goes. 0, or a negative errno
 * when the text could not be kept. */
int output_failure(struct output *o, const char *text, const cJSON *json);
int output_success(struct output *o);
/* A stop: failure.json only. */
void output_stopped(struct output *o, const cJSON *json);
/* Before a struct output exists: the failure file alone, best effort. */
int output_failure_early(const char *base, const char *text);
#endif
