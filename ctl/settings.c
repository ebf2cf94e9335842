/* SPDX-License-Identifier: Apache-2.0
 *
 * settings - makes conf/serried.json and the list in serried.json(5) out of the table, for the
 * build. */
#include "config.h"

#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/mem.h"
#include "ctl/verbs.h"

#define WIDTH 96 /* columns of a comment */

/* Appends `text` as comment lines. */
static void comment(struct buf *out, const char *indent, const char *text)
{
    size_t room = WIDTH - strlen(indent) - strlen("// ");

    while (*text) {
        size_t n = strlen(text);

        if (n > room) {
            for (n = room; n > 1 && text[n] != ' ';)
                n--;
        }
        buf_printf(out, "%s// %.*s\n", indent, (int)n, text);
        text += n + strspn(text + n, " ");
    }
}

/* Numbers and switches stand bare, all else in quotes: no default has a character to escape. */
static const char *quote_of(const char *value)
{
    auto_json cJSON *tree = json_parse(value, strlen(value), NULL);

    return tree ? "" : "\"";
}

static void add_conf(struct buf *out)
{
    struct setting_row row;

    comment(out, "",
            "The settings of serried, each at its default. Variables (SERRIED_STOP_GRACE_S), "
            "hyperparameters (serried_stop_grace_s) and --set stop.grace_s=... win over this file. "
            "See serried.json(5).");
    buf_str(out, "{");
    for (size_t i = 0; settings_row(i, &row); i++) {
        auto_free char *accepted = mem_printf("Accepted: %s.", row.bounds);
        const char *quote = quote_of(row.standard);

        buf_str(out, i ? ",\n\n" : "\n");
        comment(out, "    ", row.sentence);
        comment(out, "    ", accepted);
        buf_printf(out, "    \"%s\": %s%s%s", row.name, quote, row.standard, quote);
    }
    buf_str(out, "\n}\n");
}

static void add_mdoc(struct buf *out)
{
    struct setting_row row;

    for (size_t i = 0; settings_row(i, &row); i++) {
        buf_printf(out, ".It Sy %s Pq %s\n%s\n", row.name, row.type, row.sentence);
        buf_printf(out, "Accepted: %s.\nDefault: %s.\n", row.bounds,
                   *row.standard ? row.standard : "empty");
    }
}

int ctl_settings(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*add)(struct buf *out);
    } forms[] = {
        {"conf", add_conf},
        {"mdoc", add_mdoc},
    };
    auto_buf struct buf out = {0};

    for (size_t i = 0; argc == 1 && i < LENGTH(forms); i++) {
        if (!strcmp(argv[0], forms[i].name)) {
            forms[i].add(&out);
            return ctl_print(&out);
        }
    }
    return ctl_usage("settings", "expected conf or mdoc");
}
