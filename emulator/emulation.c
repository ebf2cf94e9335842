/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "emulator/emulation.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <uv.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/files.h"
#include "base/mem.h"
#include "base/strv.h"
#include "emulator/control.h"
#include "emulator/emulation_parts.h"
#include "emulator/logs.h"

#define NAMES_SHOWN  8
#define SIGNAL_KILLS 128 /* exit status of what a signal has ended, less the signal */

static const int stop_signals[EMULATION_SIGNALS] = {SIGINT, SIGTERM, SIGHUP};

static void tell(const char *text)
{
    (void)fprintf(stderr, "serry: %s\n", text);
}

static void stop(struct emulation *e)
{
    e->stopping = true;
    tell("stopping the job; Ctrl-C again ends it at once");
    for (size_t i = 0; i < e->n; i++) {
        if (e->hosts[i].state == HOST_RUNNING)
            rack_signal(e->rack, i, SIGTERM);
    }
}

static void on_signal(uv_signal_t *handle, int number)
{
    struct emulation *e = handle->data;

    if (!e->stopping)
        stop(e);
    else if (number == SIGINT)
        troubles_kill_all(e);
    troubles_look_for_end(e);
}

static void on_output(void *data, size_t host, int stream, const char *bytes, size_t n)
{
    struct emulation *e = data;

    logs_feed(e->logs, host, stream, bytes, n);
}

static void on_exit_of(void *data, size_t host, int status)
{
    struct emulation *e = data;

    logs_end(e->logs, host);
    e->hosts[host].state = HOST_ENDED;
    e->hosts[host].status = status;
    troubles_look_for_end(e);
}

static void on_exec_exit(void *data, unsigned id, int status)
{
    struct emulation *e = data;

    if (e->control)
        control_exec_exit(e->control, id, status);
}

static void on_broken(void *data, const char *text)
{
    struct emulation *e = data;

    if (!e->broken)
        e->broken = mem_dup(text);
    uv_stop(&e->loop);
}

static const struct rack_calls calls = {on_output, on_exit_of, on_exec_exit, on_broken};

static void apply_sizes(const struct emulation_spec *spec, struct rack_host *hosts)
{
    for (size_t i = 0; i < spec->n_faults; i++) {
        const struct fault *fault = &spec->faults[i];

        if (fault->kind == FAULT_DISK)
            hosts[fault->host].disk_mib = (long)fault->value;
        if (fault->kind == FAULT_MEMORY)
            hosts[fault->host].memory_mib = (long)fault->value;
    }
}

static void add_argv(const struct emulation_spec *spec, struct strv *argv)
{
    strv_add(argv, spec->daemon);
    strv_add(argv, "train"); /* as the platform does */
    for (size_t i = 0; i < spec->sets->n; i++) {
        strv_add(argv, "--set");
        strv_add(argv, spec->sets->v[i]);
    }
}

static int open_rack(struct emulation *e, struct err *err)
{
    const struct emulation_spec *spec = e->spec;
    auto_free struct rack_host *hosts = mem_zero(e->n * sizeof(*hosts));
    auto_strv struct strv argv = {0};
    struct rack_spec rack = {.mode = spec->mode,
                             .hosts = hosts,
                             .n = e->n,
                             .state = spec->state,
                             .hide = spec->hide,
                             .ipv6 = spec->ipv6};

    for (size_t i = 0; i < e->n; i++)
        hosts[i] = (struct rack_host){.name = spec->hosts->names.v[i],
                                      .base = spec->hosts->bases.v[i],
                                      .env = strv_list(spec->env),
                                      .gpus = spec->gpus[i]};
    apply_sizes(spec, hosts);
    add_argv(spec, &argv);
    rack.argv = strv_list(&argv);
    e->rack = rack_open(&e->loop, &rack, &calls, e, err);
    return e->rack ? 0 : err->code;
}

static void tell_hosts(const struct emulation *e)
{
    const struct strv *names = &e->spec->hosts->names;
    auto_buf struct buf text = {0};

    buf_printf(&text, "%zu host%s (", e->n, e->n == 1 ? "" : "s");
    for (size_t i = 0; i < e->n && i < NAMES_SHOWN; i++)
        buf_printf(&text, "%s%s", i ? ", " : "", names->v[i]);
    if (e->n > NAMES_SHOWN)
        buf_printf(&text, " and %zu more", e->n - NAMES_SHOWN);
    buf_printf(&text, "), isolation: %s", rack_mode_text(e->rack));
    tell(buf_text(&text));
}

static void on_fault(void *data, const struct fault *fault)
{
    troubles_make(data, fault);
}

static int run(struct emulation *e, struct err *err)
{
    const struct emulation_spec *spec = e->spec;
    auto_free char *socket = path_join(spec->state, "control.sock");

    if (open_rack(e, err))
        return err->code;
    if (spec->configure && spec->configure(spec->data, rack_mode(e->rack), err))
        return err->code;
    e->control = control_open(&e->loop, socket, e->rack, &spec->hosts->names, on_fault, e, err);
    if (!e->control)
        return err->code;
    tell_hosts(e);
    troubles_begin(e);
    troubles_look_for_end(e);
    while (!e->over && !e->broken)
        (void)uv_run(&e->loop, UV_RUN_DEFAULT);
    return e->broken ? err_set(err, BLAME_PLATFORM, -EIO, "%s", e->broken) : 0;
}

static void begin(struct emulation *e, const struct emulation_spec *spec)
{
    int rc = uv_loop_init(&e->loop);

    assert(!rc);
    (void)rc;
    e->spec = spec;
    e->n = spec->hosts->names.n;
    e->hosts = mem_zero(e->n * sizeof(*e->hosts));
    e->troubles = mem_zero(spec->n_faults * sizeof(*e->troubles));
    e->logs = logs_open(&spec->hosts->names, spec->logs);
    for (size_t i = 0; i < spec->n_faults; i++) {
        e->troubles[i].emulation = e;
        e->troubles[i].fault = &spec->faults[i];
        (void)uv_timer_init(&e->loop, &e->troubles[i].timer);
        e->troubles[i].timer.data = &e->troubles[i];
    }
    for (size_t i = 0; i < LENGTH(stop_signals); i++) {
        (void)uv_signal_init(&e->loop, &e->signals[i]);
        e->signals[i].data = e;
        (void)uv_signal_start(&e->signals[i], on_signal, stop_signals[i]);
    }
}

static void finish(struct emulation *e)
{
    if (e->control)
        control_close(e->control);
    if (e->rack)
        rack_close(e->rack);
    for (size_t i = 0; i < e->spec->n_faults; i++)
        uv_close((uv_handle_t *)&e->troubles[i].timer, NULL);
    for (size_t i = 0; i < LENGTH(stop_signals); i++)
        uv_close((uv_handle_t *)&e->signals[i], NULL);
    while (uv_run(&e->loop, UV_RUN_DEFAULT)) /* uv_stop() may have been called before */
        ;
    (void)uv_loop_close(&e->loop);
    logs_close(e->logs);
    free(e->hosts);
    free(e->troubles);
    free(e->broken);
}

int emulation_exit_status(int status)
{
    return WIFSIGNALED(status) ? SIGNAL_KILLS + WTERMSIG(status) : WEXITSTATUS(status);
}

/* A daemon that SIGKILL has ended says nothing about the job, whoever has sent it. */
static struct emulation_host fate_of(const struct emulated *host)
{
    bool ended = host->state == HOST_ENDED;
    bool killed = host->killed || (WIFSIGNALED(host->status) && WTERMSIG(host->status) == SIGKILL);

    return (struct emulation_host){.fate = !ended   ? EMULATION_NEVER
                                           : killed ? EMULATION_FAULT
                                                    : EMULATION_ENDED,
                                   .status = host->status};
}

static void sum_up(const struct emulation *e, struct emulation_end *end)
{
    const struct emulation_host *counts = NULL;

    end->hosts = mem_zero(e->n * sizeof(*end->hosts));
    for (size_t i = 0; i < e->n; i++) {
        struct emulation_host *host = &end->hosts[i];

        *host = fate_of(&e->hosts[i]);
        if (!counts && host->fate == EMULATION_ENDED)
            counts = host;
        end->differs = end->differs || host->fate != end->hosts[0].fate ||
                       host->status != end->hosts[0].status;
    }
    if (counts)
        end->status = emulation_exit_status(counts->status);
    else
        end->status = e->stopping ? SIGNAL_KILLS + SIGTERM : SIGNAL_KILLS + SIGKILL;
}

int emulation_run(const struct emulation_spec *spec, struct emulation_end *end, struct err *err)
{
    auto_free struct emulation *e = mem_zero(sizeof(*e));
    int rc;

    *end = (struct emulation_end){0};
    begin(e, spec);
    rc = run(e, err);
    if (!rc) {
        sum_up(e, end);
        end->isolation = mem_dup(rack_mode_text(e->rack));
    }
    finish(e);
    return rc;
}

void emulation_end_done(struct emulation_end *end)
{
    free(end->hosts);
    free(end->isolation);
    *end = (struct emulation_end){0};
}
