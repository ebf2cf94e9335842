/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "input/options.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/names.h"

#define HELP_COLUMN 20

static const struct option_def *find(const struct option_def *defs, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (!strcmp(defs[i].name, name))
            return &defs[i];
    }
    return NULL;
}

/* `name` may have one dash or two in front in `word`, and a value behind it. */
static int unknown(const struct option_def *defs, size_t n, const char *word, const char *name,
                   struct err *err)
{
    const char *near = NULL;
    auto_free const char **names = mem_grow(NULL, n + 1, sizeof(*names));

    for (size_t i = 0; i < n; i++)
        names[i] = defs[i].name;
    near = names_nearest(name, names, n);
    return err_set(err, BLAME_USER, -EINVAL, "unknown option %.*s%s%s%s", (int)strcspn(word, "="),
                   word, near ? " (did you mean --" : "", near ? near : "", near ? "?)" : "");
}

/* Takes the option in argv[0], whose value may be argv[1]. How many words it had, or an error. */
static int take(int argc, char *const *argv, const struct option_def *defs, size_t n,
                struct err *err)
{
    const char *word = argv[0];
    const char *start = word + (word[1] == '-' ? 2 : 1);
    const char *equals = strchr(start, '=');
    const char *value = equals ? equals + 1 : argc > 1 ? argv[1] : NULL;
    auto_free char *name = equals ? mem_dup_n(start, (size_t)(equals - start)) : mem_dup(start);
    const struct option_def *def = word[1] == '-' ? find(defs, n, name) : NULL;

    if (!def)
        return unknown(defs, n, word, name, err);
    if (def->flag) {
        if (equals)
            return err_set(err, BLAME_USER, -EINVAL, "option --%s takes no value", name);
        *def->flag = true;
        return 1;
    }
    if (!value)
        return err_set(err, BLAME_USER, -EINVAL, "option --%s: %s is missing", name, def->argument);
    if (def->list)
        strv_add(def->list, value);
    else
        *def->text = value;
    return equals ? 1 : 2;
}

int options_parse(int argc, char *const *argv, const struct option_def *defs, size_t n,
                  struct strv *words, struct err *err)
{
    bool only_words = false;
    int used = 1;

    for (int i = 0; i < argc; i += used) {
        used = 1;
        if (only_words || argv[i][0] != '-' || !argv[i][1]) {
            strv_add(words, argv[i]);
        } else if (!strcmp(argv[i], "--")) {
            only_words = true;
        } else {
            used = take(argc - i, argv + i, defs, n, err);
            if (used < 0)
                return used;
        }
    }
    return 0;
}

void options_help(struct buf *out, const struct option_def *defs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        auto_free char *left = mem_printf("--%s%s%s", defs[i].name, defs[i].argument ? " " : "",
                                          defs[i].argument ? defs[i].argument : "");

        buf_printf(out, "  %-*s  %s\n", HELP_COLUMN, left, defs[i].sentence);
    }
}
