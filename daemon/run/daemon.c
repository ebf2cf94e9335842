/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "run/daemon.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "input/inputs.h"
#include "input/output.h"
#include "run/begin.h"
#include "run/child.h"
#include "run/events.h"
#include "run/keeper.h"
#include "run/killtree.h"
#include "run/network.h"
#include "run/peers.h"
#include "run/reaper.h"
#include "run/signals.h"
#include "run/supervise.h"

#define MARK_SIZE 33

static struct {
    struct inputs in;
    uv_loop_t loop;
    char mark[MARK_SIZE];
    pid_t keeper;
} d;

static void out_of_memory(void)
{
    supervise_abandon("launcher: out of memory, the job was ended\n");
}

static void on_child(void *data, pid_t pid, int status, const struct rusage *usage)
{
    (void)data;
    if (pid == d.keeper) {
        d.keeper = 0; /* somebody killed it; the job goes on without */
        return;
    }
    events_post(
        (struct event){.kind = EV_REAPED, .pid = pid, .value = status, .extra = usage->ru_maxrss});
}

static void on_ended(void)
{
    reaper_close();
    signals_close();
    events_close();
    if (network_is_busy() || peers_are_busy()) /* the loop would wait for the name server */
        uv_stop(&d.loop);
}

static void start_keeper(void)
{
    d.keeper = keeper_start(d.mark);
    if (d.keeper < 0)
        log_warning("no process can be kept that clears up if the launcher is killed: %s",
                    strerror(-d.keeper));
}

static void dismiss_keeper(void)
{
    keeper_dismiss();
    if (d.keeper <= 0)
        return;
    (void)kill(d.keeper, SIGKILL);
    while (waitpid(d.keeper, NULL, 0) < 0 && errno == EINTR)
        ;
}

static int open_loop(void)
{
    const struct supervise_spec spec = {&d.loop, &d.in, d.mark, &d.keeper, on_ended};
    int rc = uv_loop_init(&d.loop);

    if (!rc)
        rc = supervise_open(&spec);
    if (!rc)
        rc = events_open(&d.loop, supervise_handle, supervise_settled);
    if (!rc)
        rc = reaper_open(&d.loop, on_child, NULL);
    return rc ? rc : signals_open(&d.loop);
}

static int run(const struct inputs_options *options)
{
    begin_plan(options, &d.in, &d.loop);
    supervise_begin();
    (void)uv_run(&d.loop, UV_RUN_DEFAULT);
    return supervise_status();
}

/* Without a loop nothing works, not even the end: it stays half open. */
static int run_without_loop(int rc)
{
    log_error("the event loop cannot be set up: %s", uv_strerror(rc));
    (void)output_failure_early(d.in.base, "platform: the event loop cannot be set up\n");
    return err_status(BLAME_PLATFORM);
}

static void close_all(int status)
{
    supervise_done();
    inputs_done(&d.in);
    mem_on_failure(NULL);
    if (network_is_busy() || peers_are_busy()) /* its thread would hold up the end of the process */
        _exit(status);
    (void)uv_loop_close(&d.loop);
}

int daemon_run(const struct inputs_options *options)
{
    int rc, status;

    signals_hold();
    child_raise_limit();
    inputs_read(options, &d.in);
    killtree_new_mark(d.mark);
    log_set_json(strcmp(d.in.settings.log_format, "json") == 0);
    if (!findings_first_fatal(&d.in.findings))
        start_keeper();
    rc = open_loop();
    if (rc)
        return run_without_loop(rc);
    mem_on_failure(out_of_memory);
    status = run(options);
    dismiss_keeper();
    close_all(status);
    return status;
}
