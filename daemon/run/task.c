/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "run/task.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/files.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "run/child.h"
#include "run/events.h"

#define PIPE_BYTES     (1 << 18)
#define ERROR_FILE_MAX ((size_t)1 << 20)

static void post_eof_once(struct task *t)
{
    if (t->eof_posted || !logmux_at_eof(t->out) || !logmux_at_eof(t->err))
        return;
    t->eof_posted = true;
    events_post((struct event){.kind = EV_EOF, .target = t});
}

static void on_eof(void *data)
{
    struct task *t = data;

    if (t->out && t->err)
        post_eof_once(t);
}

static struct log_stream *add_stream(struct task *t, struct logmux *mux, bool is_err, int fd)
{
    char **path = is_err ? &t->err_path : &t->out_path;

    return logmux_add(mux, &(struct log_source){.host = t->outcome.host,
                                                .rank = t->outcome.rank,
                                                .local_rank = t->outcome.local_rank,
                                                .step = t->outcome.step,
                                                .is_err = is_err,
                                                .fd = fd,
                                                .path = TAKE(*path),
                                                .on_eof = on_eof,
                                                .data = t});
}

static pid_t spawn(struct task *t, const struct task_spec *spec, struct logmux *mux,
                   struct err *err)
{
    auto_fd int out_read = -1, out_write = -1, err_read = -1, err_write = -1;
    pid_t pid;
    int rc = child_pipe(PIPE_BYTES, &out_read, &out_write);

    if (!rc)
        rc = child_pipe(PIPE_BYTES, &err_read, &err_write);
    if (rc)
        return err_set(err, BLAME_PLATFORM, rc, "cannot make a pipe: %s", strerror(-rc));
    pid = child_spawn(&(struct child_spec){.argv = spec->argv,
                                           .env = spec->env,
                                           .cwd = spec->cwd,
                                           .out = out_write,
                                           .err = err_write},
                      err);
    if (pid < 0)
        return pid;
    t->out = add_stream(t, mux, false, TAKE_FD(out_read));
    t->err = add_stream(t, mux, true, TAKE_FD(err_read));
    return pid;
}

bool task_start(struct task *t, const struct task_spec *spec, struct logmux *mux)
{
    struct err err = ERR_INIT;
    pid_t pid = spawn(t, spec, mux, &err);

    t->outcome.start_ms = clock_ms();
    if (pid < 0) {
        t->outcome.spawn_error = mem_dup(err.text);
        t->outcome.end_ms = t->outcome.start_ms;
        t->outcome.spawn_blame = err.blame;
        (void)rank_step(&t->state, REV_NOSPAWN);
        return false;
    }
    t->outcome.pid = pid;
    t->outcome.started = true;
    (void)rank_step(&t->state, REV_SPAWNED);
    return true;
}

void task_ended(struct task *t, int status, long max_rss_kib)
{
    struct outcome *o = &t->outcome;

    o->ended = true;
    o->end_ms = clock_ms();
    o->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    o->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    o->max_rss_kib = max_rss_kib;
}

bool task_is_live(const struct task *t)
{
    return t->outcome.started && !t->outcome.ended;
}

unsigned task_event(struct task *t, enum rank_event event)
{
    enum rank_state before = t->state;
    unsigned what = rank_step(&t->state, event);

    if (t->state != before)
        log_debug("%s %u: %s, %s to %s", t->outcome.step ? t->outcome.step : "rank",
                  t->outcome.rank, rank_event_name(event), rank_state_name(before),
                  rank_state_name(t->state));
    if (what & DO_TERM) {
        logmux_drain(t->err); /* what stands in the pipe was written before */
        t->outcome.told_ms = clock_ms();
        t->outcome.told_err_len = logmux_total(t->err);
        t->outcome.words_ms = logmux_last_ms(t->err);
        (void)kill(t->outcome.pid, SIGTERM);
    }
    if ((what & DO_KILL) && task_is_live(t)) {
        t->outcome.killed_ms = clock_ms();
        (void)kill(t->outcome.pid, SIGKILL);
    }
    if (what & DO_DRAIN)
        t->eof_posted = false; /* one that came before the exit changed nothing */
    if (what & (DO_DRAIN | DO_CUT)) {
        logmux_drain(t->out);
        logmux_drain(t->err);
    }
    if (what & DO_DRAIN)
        post_eof_once(t);
    if (what & DO_CUT) {
        logmux_cut(t->out);
        logmux_cut(t->err);
    }
    return what;
}

/* {"message": {"message": "...", "extraInfo": {"py_callstack": "..."}}} or {"message": "..."}: what
 * torch.distributed.elastic's record() leaves. Its time stamp has whole seconds; the file's own
 * time is nearer. */
static void read_error_file(struct task *t)
{
    auto_json cJSON *file = json_read(t->error_file, ERROR_FILE_MAX, NULL);
    const cJSON *message = json_get(file, "message");
    const char *stack = json_string(json_get(json_get(message, "extraInfo"), "py_callstack"));
    const char *text = json_string(json_get(message, "message"));
    struct stat st;
    uint64_t ago_ms;

    if (!text)
        text = json_string(message);
    if (!text)
        return;
    t->outcome.elastic_text = mem_dup(stack && *stack ? stack : text);
    t->outcome.elastic_ms = t->outcome.end_ms;
    if (stat(t->error_file, &st) < 0)
        return;
    ago_ms = clock_wall_ms() - (uint64_t)st.st_mtim.tv_sec * 1000 -
             (uint64_t)st.st_mtim.tv_nsec / 1000000;
    if (clock_ms() - ago_ms >= t->outcome.start_ms && clock_ms() - ago_ms < t->outcome.end_ms)
        t->outcome.elastic_ms = clock_ms() - ago_ms;
}

void task_collect(struct task *t)
{
    struct outcome *o = &t->outcome;

    if (!t->out || o->last_out || o->last_err)
        return;
    o->last_out = logmux_tail(t->out, &o->last_out_len);
    o->last_err = logmux_tail(t->err, &o->last_err_len);
    o->total_err = logmux_total(t->err);
    o->error_ms = logmux_error_ms(t->err);
    if (t->error_file)
        read_error_file(t);
}

void task_done(struct task *t)
{
    outcome_done(&t->outcome);
    free(t->error_file);
    free(t->out_path);
    free(t->err_path);
}
