/* SPDX-License-Identifier: Apache-2.0
 *
 * options - reads `--name VALUE`, `--name=VALUE` and `--flag` words by a table.
 *
 * Nothing is copied: texts are borrowed from argv. `--` ends the options. */
#ifndef INPUT_OPTIONS_H
#define INPUT_OPTIONS_H
#include "base/strv.h"

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct err;

#define OPTIONS_USAGE_STATUS 64 /* exit status for what options_parse() refuses */

/* Exactly one of flag, text and list is there and takes the answer. */
struct option_def {
    const char *name;     /* "base", without the dashes */
    const char *argument; /* "DIR", as help shows it; NULL for a flag */
    const char *sentence; /* what it does, for help */
    bool *flag;           /* set to true */
    const char **text;    /* the last one given wins */
    struct strv *list;    /* each one given is added */
};

/* Reads the `argc` words of `argv` (without the program's name); those that are no options are
 * added to `words`. On an unknown option (the nearest is named), a missing or a needless value:
 * -EINVAL with BLAME_USER, and what was read so far stays set. */
int options_parse(int argc, char *const *argv, const struct option_def *defs, size_t n,
                  struct strv *words, struct err *err);
/* One line for each: "  --base DIR   sentence". */
void options_help(struct buf *out, const struct option_def *defs, size_t n);
#endif
