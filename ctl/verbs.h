/* SPDX-License-Identifier: Apache-2.0
 *
 * verbs - the subcommands of `serry`, and what they share. */
#ifndef CTL_VERBS_H
#define CTL_VERBS_H
#include "input/inputs.h"

#include <stdbool.h>

struct buf;

/* Options of the verbs that read a job's inputs. */
struct ctl_options {
    struct inputs_options inputs;
    bool json;
    bool secrets; /* of `plan` only */
};

/* Reads the words behind the verb's name into `o`, with the container's environment. False: the
 * verb is over and *status is its exit status (a usage error, which was told, or --help). */
bool ctl_options_read(struct ctl_options *o, const char *verb, int argc, char **argv, int *status);
void ctl_options_done(struct ctl_options *o);
/* Prints what `serry help VERB` says; the exit status. */
int ctl_help(const char *verb);
/* The options of `plan` or `check`, a line for each. */
void ctl_options_help(struct buf *out, const char *verb);
/* The whole of standard output, at the end. 0, or the exit status of one that cannot be written. */
int ctl_print(const struct buf *out);
/* Appends a tree, a member a line. */
void ctl_add_json(struct buf *out, const cJSON *tree);
/* One line on standard error, and the status of a usage error. */
int ctl_usage(const char *verb, const char *text);
/* The exit status for `findings`: 0 without a fatal one, else by the blame of the first. */
int ctl_status(const struct findings *findings);

/* Each verb gets the words behind its name and gives the exit status. */
int ctl_plan(int argc, char **argv);
int ctl_check(int argc, char **argv);
int ctl_emulate(int argc, char **argv);
void ctl_emulate_help(struct buf *out);
int ctl_keygen(int argc, char **argv);
int ctl_settings(int argc, char **argv);

/* The plan as text, which is a shell script as well. `redact` NULL shows secrets. */
void plan_text(struct buf *out, const struct inputs *in, const struct redact *redact);
#endif
