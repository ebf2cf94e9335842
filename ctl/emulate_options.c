/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "ctl/emulate.h"
#include "ctl/verbs.h"
#include "input/options.h"

#define DEFS_MAX 24

static size_t defs_of(struct emulate_options *o, struct option_def defs[DEFS_MAX])
{
    const struct option_def all[] = {
        {"hosts",         "N",             "how many hosts",                              .text = &o->hosts        },
        {"ranks",         "N",             "processes per host",                          .text = &o->ranks        },
        {"source",        "DIR",           "folder with the code, copied to each host",   .text = &o->source       },
        {"entry",         "NAME",          "program in it (train.py)",                    .text = &o->entry        },
        {"distribution",  "JSON",          "the SDK's dictionary of this name",           .text = &o->distribution },
        {"hp",            "NAME=VALUE",    "a hyperparameter, in JSON or plain text",     .list = &o->hps          },
        {"channel",       "NAME=DIR",      "an input channel, copied to each host",       .list = &o->channels     },
        {"instance-type", "TYPE",          "what the hosts say they are (local)",         .text = &o->instance_type},
        {"group",         "NAME=N[:TYPE]", "an instance group, in place of --hosts",      .list = &o->groups       },
        {"env",           "NAME=VALUE",    "a variable of the containers",                .list = &o->env          },
        {"set",           "NAME=VALUE",    "a setting of serried, see serried.json(5)",   .list = &o->sets         },
        {"tree",          "DIR",           "ready bases DIR/HOST, in place of all above", .text = &o->tree         },
        {"keep",          NULL,            "leaves the bases for reading",                .flag = &o->keep         },
        {"state",         "DIR",           "folder of the emulation (a new one)",         .text = &o->state        },
        {"fault",         "SPEC",          "trouble: KIND:HOST[:VALUE][@SECONDS]",        .list = &o->faults       },
        {"gpus",          "N[,N...]",      "devices that the hosts pretend to have",      .text = &o->gpus         },
        {"ipv6",          NULL,            "names have IPv6 addresses too",               .flag = &o->ipv6         },
        {"no-isolation",  NULL,            "plain processes, where hosts cannot be made",
         .flag = &o->no_isolation                                                                                  },
        {"mode",          "MODE",          "root, range or single, not the best of them", .text = &o->mode         },
        {"json",          NULL,            "prints one JSON object at the end",           .flag = &o->json         },
        {"host",          "HOST",          "for exec: its name or number",                .text = &o->host         },
        {"help",          NULL,            "this text",                                   .flag = &o->help         },
    };

    memcpy(defs, all, sizeof(all));
    return LENGTH(all);
}

void ctl_emulate_help(struct buf *out)
{
    struct option_def defs[DEFS_MAX];
    struct emulate_options o;

    buf_str(out, "usage: serry emulate --hosts N [OPTION ...]\n"
                 "       serry emulate --tree DIR [OPTION ...]\n"
                 "       serry emulate [--state DIR] --host HOST exec COMMAND [WORD ...]\n"
                 "       serry emulate [--state DIR] fault SPEC\n"
                 "emulate runs a job of several hosts on this machine; exec and fault are for one "
                 "that runs.\n\n");
    options_help(out, defs, defs_of(&o, defs));
}

/* The words behind the options of `exec` are the command's, options or not. How many words come
 * before the first that is no option. */
static int first_word(int argc, char **argv, const struct option_def *defs, size_t n)
{
    int i = 0;

    while (i < argc && argv[i][0] == '-' && strcmp(argv[i], "--") != 0) {
        bool takes_value = false;

        for (size_t d = 0; d < n && !takes_value; d++)
            takes_value = defs[d].argument && !strncmp(argv[i], "--", 2) &&
                          !strcmp(argv[i] + 2, defs[d].name);
        i += takes_value ? 2 : 1;
    }
    return i < argc ? i : argc;
}

int emulate_options_read(int argc, char **argv, struct emulate_options *o, struct strv *words,
                         struct err *err)
{
    struct option_def defs[DEFS_MAX];
    size_t n = defs_of(o, defs);
    int before = first_word(argc, argv, defs, n);
    bool is_command = before < argc && !strcmp(argv[before], "exec");

    if (options_parse(is_command ? before : argc, argv, defs, n, words, err))
        return err->code;
    for (int i = before; is_command && i < argc; i++)
        strv_add(words, argv[i]);
    return 0;
}

void emulate_options_done(struct emulate_options *o)
{
    strv_done(&o->hps);
    strv_done(&o->channels);
    strv_done(&o->groups);
    strv_done(&o->env);
    strv_done(&o->sets);
    strv_done(&o->faults);
}
