/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "ctl/verbs.h"
#include "input/options.h"

#define DEFS_MAX 8

extern char **environ;

/* The options of `verb`, which go to `o` and `help`. How many they are. */
static size_t defs_of(const char *verb, struct ctl_options *o, bool *help,
                      struct option_def defs[DEFS_MAX])
{
    struct inputs_options *in = &o->inputs;
    const struct option_def all[] = {
        {"json",    NULL,         "prints one JSON object",                        .flag = &o->json       },
        {"base",    "DIR",        "job folder (SAGEMAKER_BASE_DIR, else /opt/ml)", .text = &in->base      },
        {"facts",   "FILE",       "facts of a machine, instead of looking",        .text = &in->facts_file},
        {"as",      "HOST",       "plans for another host of the job",             .text = &in->as_host   },
        {"set",     "NAME=VALUE", "a setting, see serried.json(5)",                .list = &in->sets      },
        {"help",    NULL,         "this text",                                     .flag = help           },
        {"secrets", NULL,         "shows secrets unmasked",                        .flag = &o->secrets    },
    };
    size_t n = LENGTH(all) - (strcmp(verb, "plan") != 0);

    memcpy(defs, all, n * sizeof(*defs));
    return n;
}

static int refuse_word(const struct strv *words, struct err *err)
{
    if (!words->n)
        return 0;
    return err_set(err, BLAME_USER, -1, "expected options only, found %s", words->v[0]);
}

bool ctl_options_read(struct ctl_options *o, const char *verb, int argc, char **argv, int *status)
{
    struct option_def defs[DEFS_MAX];
    auto_strv struct strv words = {0};
    struct err err = ERR_INIT;
    bool help = false;
    size_t n;

    *o = (struct ctl_options){0};
    n = defs_of(verb, o, &help, defs);
    if (options_parse(argc, argv, defs, n, &words, &err) || refuse_word(&words, &err)) {
        *status = ctl_usage(verb, err.text);
        return false;
    }
    if (help) {
        *status = ctl_help(verb);
        return false;
    }
    for (char **variable = environ; *variable; variable++)
        strv_add(&o->inputs.container, *variable);
    return true;
}

void ctl_options_done(struct ctl_options *o)
{
    strv_done(&o->inputs.sets);
    strv_done(&o->inputs.container);
}

void ctl_options_help(struct buf *out, const char *verb)
{
    struct option_def defs[DEFS_MAX];
    struct ctl_options o;
    bool help;

    options_help(out, defs, defs_of(verb, &o, &help, defs));
}
