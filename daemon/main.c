/* SPDX-License-Identifier: Apache-2.0
 *
 * serried - the daemon: a container's entry point. */
#include "config.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/files.h"
#include "base/log.h"
#include "base/mem.h"
#include "input/inputs.h"
#include "input/options.h"
#include "run/daemon.h"

extern char **environ;

static const char *base;
static struct strv sets;
static bool want_help, want_version;

static const struct option_def defs[] = {
    {"base",    "DIR",        "the job's folder (SAGEMAKER_BASE_DIR, else /opt/ml)", NULL,          &base, NULL },
    {"set",     "NAME=VALUE", "a setting, before all other sources",                 NULL,          NULL,  &sets},
    {"version", NULL,         "version and features",                                &want_version, NULL,  NULL },
    {"help",    NULL,         "this text",                                           &want_help,    NULL,  NULL },
};
#define N_DEFS (sizeof(defs) / sizeof(defs[0]))

static void add_version(struct buf *out)
{
    buf_printf(out, "serried %s\n", PACKAGE_VERSION);
    buf_printf(out, "  libuv %s, cJSON %s\n", uv_version_string(), cJSON_Version());
    buf_str(out, "  launchers   plain torch\n"
                 "  not built   mpi smddp xla tf-parameter-server tf-mirrored, "
                 "S3, NVML\n");
}

static void add_help(struct buf *out)
{
    buf_str(out, "usage: serried [train] [OPTION ...]\n\n"
                 "Runs the training job that is described below the base folder, and ends with its "
                 "status.\n\n");
    options_help(out, defs, N_DEFS);
    buf_str(out, "\nserry plan shows what would run. Settings: serried.json(5).\n");
}

static int print(struct buf *out)
{
    int rc = fd_write_all(STDOUT_FILENO, buf_text(out), out->len);

    buf_done(out);
    return rc ? err_status(BLAME_PLATFORM) : 0;
}

static int usage(const char *text)
{
    log_error("%s; see serried --help", text);
    return OPTIONS_USAGE_STATUS;
}

static int usage_words(const struct strv *words)
{
    auto_free char *found = strv_join(words, " ");
    auto_free char *text =
        words->n == 1
            ? mem_printf("expected the word train or none, found %s", found)
            : mem_printf("expected the word train or none, found %zu words: %s", words->n, found);

    return usage(text);
}

/* A container may start us with any of 0, 1 and 2 closed: what is opened later must not take their
 * place. */
static void open_standard_streams(void)
{
    int fd;

    do
        fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        (void)close(fd);
}

static int run(void)
{
    struct inputs_options options = {.base = base, .sets = sets};
    int status;

    for (char **variable = environ; *variable; variable++)
        strv_add(&options.container, *variable);
    status = daemon_run(&options);
    strv_done(&options.container);
    return status;
}

int main(int argc, char **argv)
{
    struct strv words = {0};
    struct buf out = {0};
    struct err err = ERR_INIT;
    int status;

    open_standard_streams();
    if (options_parse(argc - 1, argv + 1, defs, N_DEFS, &words, &err) < 0) {
        status = usage(err.text);
    } else if (want_help || want_version) {
        (want_help ? add_help : add_version)(&out);
        status = print(&out);
    } else if (words.n > 1 || (words.n == 1 && strcmp(words.v[0], "train") != 0)) {
        status = usage_words(&words);
    } else {
        status = run();
    }
    strv_done(&words);
    strv_done(&sets);
    return status;
}
