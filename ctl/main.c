/* SPDX-License-Identifier: Apache-2.0
 *
 * serry - the command-line tool: looks at jobs, and talks to the daemon. */
#include "config.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/files.h"
#include "base/mem.h"
#include "base/names.h"
#include "ctl/verbs.h"
#include "input/options.h"

static int run_help(int argc, char **argv);

static const struct verb {
    const char *name;
    const char *sentence;              /* NULL: for the build only */
    int (*run)(int argc, char **argv); /* NULL: not part of this version */
    bool reads_inputs;                 /* has the options of ctl_options_read() */
    void (*help)(struct buf *out);     /* instead; NULL: the line above says all */
} verbs[] = {
    {"plan",     "shows all that would run, and starts nothing",       ctl_plan,     true,  NULL},
    {"check",    "lists everything that is wrong with a job's inputs", ctl_check,    true,  NULL},
    {"help",     "explains a verb: serry help VERB",                   run_help,     false, NULL},
    {"doctor",   "looks for trouble of the machine",                   NULL,         false, NULL},
    {"emulate",  "runs a job of several hosts on this machine",        ctl_emulate,  false,
     ctl_emulate_help                                                                           },
    {"status",   "shows the state of a running job",                   NULL,         false, NULL},
    {"top",      "shows what the ranks of a running job use",          NULL,         false, NULL},
    {"logs",     "shows the lines of ranks",                           NULL,         false, NULL},
    {"stop",     "stops a running job",                                NULL,         false, NULL},
    {"dump",     "shows where the ranks of a running job are",         NULL,         false, NULL},
    {"report",   "renders the events of a job",                        NULL,         false, NULL},
    {"keygen",   "makes the key that the hosts of a job share",        ctl_keygen,   false, NULL},
    {"settings", NULL,                                                 ctl_settings, false, NULL},
};

static const struct verb *find(const char *name)
{
    for (size_t i = 0; i < LENGTH(verbs); i++) {
        if (!strcmp(verbs[i].name, name))
            return &verbs[i];
    }
    return NULL;
}

int ctl_print(const struct buf *out)
{
    int rc = fd_write_all(STDOUT_FILENO, buf_text(out), out->len);

    if (!rc)
        return 0;
    (void)fprintf(stderr, "serry: standard output cannot be written: %s\n", strerror(-rc));
    return err_status(BLAME_PLATFORM);
}

void ctl_add_json(struct buf *out, const cJSON *tree)
{
    auto_free char *text = mem_check(cJSON_Print(tree));

    buf_str(out, text);
    buf_char(out, '\n');
}

int ctl_usage(const char *verb, const char *text)
{
    (void)fprintf(stderr, "serry%s%s: %s; see serry help%s%s\n", *verb ? " " : "", verb, text,
                  *verb ? " " : "", verb);
    return OPTIONS_USAGE_STATUS;
}

int ctl_status(const struct findings *findings)
{
    const struct finding *fatal = findings_first_fatal(findings);

    return fatal ? err_status(fatal->blame) : 0;
}

static int not_there(const char *name)
{
    (void)fprintf(stderr, "serry: %s is not part of this version\n", name);
    return OPTIONS_USAGE_STATUS;
}

static int unknown(const char *name)
{
    const char *names[LENGTH(verbs)];
    const char *near;

    for (size_t i = 0; i < LENGTH(verbs); i++)
        names[i] = verbs[i].name;
    near = names_nearest(name, names, LENGTH(verbs));
    (void)fprintf(stderr, "serry: unknown verb %s%s%s%s; see serry help\n", name,
                  near ? " (did you mean " : "", near ? near : "", near ? "?)" : "");
    return OPTIONS_USAGE_STATUS;
}

static void overview(struct buf *out)
{
    buf_str(out, "usage: serry VERB [OPTION ...]\n       serry --version\n\n");
    for (size_t i = 0; i < LENGTH(verbs); i++) {
        if (verbs[i].sentence)
            buf_printf(out, "  %-9s %s%s\n", verbs[i].name, verbs[i].sentence,
                       verbs[i].run ? "" : " (not part of this version)");
    }
}

int ctl_help(const char *name)
{
    const struct verb *verb = find(name);
    auto_buf struct buf out = {0};

    if (!verb)
        return unknown(name);
    if (!verb->run)
        return not_there(name);
    if (verb->help) {
        verb->help(&out);
        return ctl_print(&out);
    }
    buf_printf(&out, "usage: serry %s%s\n", name, verb->reads_inputs ? " [OPTION ...]" : "");
    if (verb->sentence)
        buf_printf(&out, "%s %s.\n", name, verb->sentence);
    if (verb->reads_inputs) {
        buf_char(&out, '\n');
        ctl_options_help(&out, name);
    }
    return ctl_print(&out);
}

static int run_help(int argc, char **argv)
{
    auto_buf struct buf out = {0};

    if (argc > 1)
        return ctl_usage("help", "expected one verb");
    if (argc == 1)
        return ctl_help(argv[0]);
    overview(&out);
    return ctl_print(&out);
}

static int version(void)
{
    auto_buf struct buf out = {0};

    buf_printf(&out, "serry %s\n", PACKAGE_VERSION);
    return ctl_print(&out);
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    const struct verb *verb = find(name);

    (void)signal(SIGPIPE, SIG_IGN); /* a reader that goes away is an error of writing */
    if (!strcmp(name, "--help"))
        return run_help(0, NULL);
    if (!strcmp(name, "--version"))
        return version();
    if (!*name)
        return ctl_usage("", "expected a verb");
    if (!verb)
        return unknown(name);
    return verb->run ? verb->run(argc - 2, argv + 2) : not_there(name);
}
