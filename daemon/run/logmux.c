/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "run/logmux.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "core/lines.h"
#include "core/logform.h"
#include "core/logtail.h"
#include "run/console.h"
#include "run/logfile.h"
#include "run/outputs.h"

#define CHUNK        ((size_t)64 << 10) /* bytes of one read */
#define TAIL_ERR     ((size_t)32 << 10)
#define TAIL_OUT     ((size_t)8 << 10)
#define FILES_A_TURN 16
#define SHOW_LINES   20 /* of the tail of a hidden rank that failed */

struct log_stream {
    struct logmux *mux;
    struct log_stream *next;
    struct console *console;
    uv_poll_t poll;
    int fd;                 /* -1 at its end */
    bool hidden;            /* by log.ranks */
    bool held_up;           /* not read because the console is full */
    struct logform_who who; /* its strings are our own copies */
    char *prefix;
    size_t prefix_len;
    struct lines lines;
    struct logtail tail;
    struct logfile *file;
    bool file_wanted; /* and not opened yet */
    char *path;
    uint64_t last_ms;
    void (*on_eof)(void *data);
    void *data;
};

struct logmux {
    uv_loop_t *loop;
    const struct settings *settings;
    bool labelled, json;
    struct outputs *outputs;
    struct log_stream *streams;
    uv_timer_t tick; /* runs only while a state of a progress bar waits */
    uv_timer_t open_files;
    bool file_failed;  /* and that was said */
    unsigned handles;  /* open ones */
    struct buf object; /* a line as JSON */
    char chunk[CHUNK];
};

/* Showing */

static void show_text(void *data, const char *text, size_t n, unsigned cut)
{
    const struct log_stream *s = data;
    struct console *c = s->console;
    char *line = console_room(c, s->prefix_len + n + 3);
    char *at = mempcpy(line, s->prefix, s->prefix_len);

    if (cut & LINES_CONTINUES)
        *at++ = '\\';
    at = mempcpy(at, text, n);
    if (cut & LINES_GOES_ON)
        *at++ = '\\';
    *at++ = '\n';
    console_used(c, (size_t)(at - line));
}

static void show_json(void *data, const char *text, size_t n, unsigned cut)
{
    const struct log_stream *s = data;
    struct buf *object = &s->mux->object;
    char time[32];

    buf_clear(object);
    logform_json(object, &s->who, clock_text(clock_wall_ms(), time, sizeof(time)), text, n,
                 cut & LINES_GOES_ON);
    console_write(s->console, object->data, object->len);
}

static struct lines new_lines(const struct log_stream *s)
{
    const struct settings *set = s->mux->settings;

    return (struct lines){.show = s->mux->json ? show_json : show_text,
                          .data = (void *)s,
                          .max = (size_t)set->log_line_max,
                          .per_s = set->log_progress_per_s,
                          .together = !s->mux->json && !s->prefix_len};
}

static void on_tick(uv_timer_t *handle);

/* One timer for all streams: at the earliest moment that one asks for. */
static void arm_tick(struct logmux *m, uint64_t due_ms)
{
    uint64_t now = uv_now(m->loop);
    uint64_t wait = due_ms > now ? due_ms - now : 0;

    if (!due_ms || (uv_is_active((uv_handle_t *)&m->tick) && uv_timer_get_due_in(&m->tick) <= wait))
        return;
    (void)uv_timer_start(&m->tick, on_tick, wait, 0);
}

static void on_tick(uv_timer_t *handle)
{
    struct logmux *m = handle->data;

    for (struct log_stream *s = m->streams; s; s = s->next) {
        lines_tick(&s->lines, clock_ms());
        arm_tick(m, lines_due_ms(&s->lines));
    }
}

/* Reading */

static void check_file(struct log_stream *s, int code)
{
    if (!code)
        return;
    (void)logfile_close(TAKE(s->file));
    if (s->mux->file_failed)
        return;
    s->mux->file_failed = true;
    log_warning("%s: %s; the file ends here, as may those of other ranks, and the job goes on",
                s->path, strerror(-code));
}

static void open_file(struct log_stream *s)
{
    int code = 0;

    if (!s->file_wanted)
        return;
    s->file_wanted = false;
    s->file = logfile_open(s->path, (size_t)s->mux->settings->log_file_max, &code);
    check_file(s, code);
}

/* Making files is slow beside starting processes, so it waits for the loop's next turns, when all
 * ranks have been started: a few in each, so that events do not wait. */
static void on_open_files(uv_timer_t *handle)
{
    struct logmux *m = handle->data;
    unsigned left = FILES_A_TURN;

    for (struct log_stream *s = m->streams; s; s = s->next) {
        if (s->file_wanted && left-- == 0) {
            (void)uv_timer_start(handle, on_open_files, 0, 0);
            return;
        }
        open_file(s);
    }
}

static void take(struct log_stream *s, const char *bytes, size_t n)
{
    open_file(s);
    s->last_ms = clock_ms();
    logtail_add(&s->tail, bytes, n, s->last_ms);
    if (s->file)
        check_file(s, logfile_write(s->file, bytes, n));
    if (s->hidden)
        return;
    lines_feed(&s->lines, bytes, n, s->last_ms);
    arm_tick(s->mux, lines_due_ms(&s->lines));
}

static void on_closed(uv_handle_t *handle);

static void end_stream(struct log_stream *s)
{
    if (s->fd < 0)
        return;
    open_file(s);
    lines_end(&s->lines, clock_ms());
    lines_done(&s->lines);
    check_file(s, logfile_close(TAKE(s->file)));
    s->poll.data = s->mux;
    uv_close((uv_handle_t *)&s->poll, on_closed);
    (void)close(s->fd);
    s->fd = -1;
}

/* False when there is nothing now, or nothing any more. */
static bool read_once(struct log_stream *s)
{
    ssize_t n = read(s->fd, s->mux->chunk, CHUNK);

    if (n > 0) {
        take(s, s->mux->chunk, (size_t)n);
        return true;
    }
    if (n < 0 && errno == EINTR)
        return true;
    if (n < 0 && errno == EAGAIN)
        return false;
    end_stream(s);
    if (s->on_eof)
        s->on_eof(s->data);
    return false;
}

static void on_readable(uv_poll_t *handle, int status, int events)
{
    struct log_stream *s = handle->data;

    (void)status;
    (void)events;
    if (!s->hidden && console_is_full(s->console)) {
        s->held_up = true;
        (void)uv_poll_stop(handle);
        return;
    }
    (void)read_once(s); /* once only: the others are to have their turn */
}

static void on_room(void *data)
{
    struct logmux *m = data;

    for (struct log_stream *s = m->streams; s; s = s->next) {
        if (!s->held_up || s->fd < 0)
            continue;
        s->held_up = false;
        (void)uv_poll_start(&s->poll, UV_READABLE, on_readable);
    }
}

void logmux_drain(struct log_stream *s)
{
    size_t size = s->fd < 0 ? 0 : (size_t)fcntl(s->fd, F_GETPIPE_SZ);
    size_t before = s->tail.total;

    while (s->fd >= 0 && s->tail.total - before <= size && read_once(s))
        continue;
}

bool logmux_at_eof(const struct log_stream *s)
{
    return s->fd < 0;
}

void logmux_cut(struct log_stream *s)
{
    end_stream(s);
}

/* Asking */

char *logmux_tail(const struct log_stream *s, size_t *len)
{
    return logtail_copy(&s->tail, len);
}

uint64_t logmux_error_ms(const struct log_stream *s)
{
    return s->tail.error_ms;
}

size_t logmux_total(const struct log_stream *s)
{
    return s->tail.total;
}

uint64_t logmux_last_ms(const struct log_stream *s)
{
    return s->last_ms;
}

void logmux_own_line(void *logmux, const char *line, size_t n)
{
    struct logmux *m = logmux;

    console_write(outputs_console(m->outputs, true), line, n);
}

void logmux_flush(struct logmux *m)
{
    outputs_flush(m->outputs);
}

void logmux_show_tail(struct logmux *m, const struct log_stream *s)
{
    struct lines lines = new_lines(s);
    auto_free char *text = NULL;
    size_t len, from, ends = 0;

    (void)m;
    if (!s->hidden)
        return;
    text = logmux_tail(s, &len);
    from = len;
    while (from && (text[from - 1] != '\n' || from == len || ++ends < SHOW_LINES))
        from--;
    lines_feed(&lines, text + from, len - from, clock_ms());
    lines_end(&lines, clock_ms());
    lines_done(&lines);
}

/* Beginning and end */

struct logmux *logmux_open_to(uv_loop_t *loop, const struct settings *settings, bool labelled,
                              int out_fd, int err_fd)
{
    struct logmux *m = mem_zero(sizeof(*m));

    m->loop = loop;
    m->settings = settings;
    m->labelled = labelled;
    m->json = !strcmp(settings->log_format, "json");
    m->outputs = outputs_open(loop, out_fd, err_fd, on_room, m);
    m->tick.data = m;
    (void)uv_timer_init(loop, &m->tick);
    m->open_files.data = m;
    (void)uv_timer_init(loop, &m->open_files);
    m->handles = 2;
    return m;
}

struct logmux *logmux_open(uv_loop_t *loop, const struct settings *settings, bool labelled)
{
    return logmux_open_to(loop, settings, labelled, STDOUT_FILENO, STDERR_FILENO);
}

struct log_stream *logmux_add(struct logmux *m, const struct log_source *source)
{
    struct log_stream *s = mem_zero(sizeof(*s));

    s->mux = m;
    s->fd = source->fd;
    s->who = (struct logform_who){.host = mem_dup(source->host),
                                  .rank = source->rank,
                                  .local_rank = source->local_rank,
                                  .step = mem_dup(source->step),
                                  .is_err = source->is_err};
    s->console = outputs_console(m->outputs, source->is_err);
    s->hidden = !source->step && !logform_shows(m->settings->log_ranks, source->rank);
    s->prefix = logform_prefix(m->settings->log_prefix, m->labelled, &s->who);
    s->prefix_len = strlen(s->prefix);
    s->lines = new_lines(s);
    s->tail =
        (struct logtail){.cap = source->is_err ? TAIL_ERR : TAIL_OUT, .search = source->is_err};
    s->path = source->path;
    s->file_wanted = s->path && m->settings->log_file_max;
    s->on_eof = source->on_eof;
    s->data = source->data;
    s->poll.data = s;
    s->next = m->streams;
    m->streams = s;
    (void)uv_poll_init(m->loop, &s->poll, s->fd);
    (void)uv_poll_start(&s->poll, UV_READABLE, on_readable);
    m->handles++;
    (void)uv_timer_start(&m->open_files, on_open_files, 0, 0);
    return s;
}

void logmux_finish(struct logmux *m, uint64_t idle_ms, uint64_t deadline_ms,
                   void (*on_done)(void *data), void *data)
{
    for (struct log_stream *s = m->streams; s; s = s->next)
        end_stream(s);
    (void)uv_timer_stop(&m->tick);
    outputs_finish(m->outputs, idle_ms, deadline_ms, on_done, data);
}

static void release(struct logmux *m)
{
    struct log_stream *next;

    for (struct log_stream *s = m->streams; s; s = next) {
        next = s->next;
        logtail_done(&s->tail);
        free((char *)s->who.host);
        free((char *)s->who.step);
        free(s->prefix);
        free(s->path);
        free(s);
    }
    buf_done(&m->object);
    free(m);
}

static void on_closed(uv_handle_t *handle)
{
    struct logmux *m = handle->data;

    if (!--m->handles) /* the tick's goes last, with the mux */
        release(m);
}

void logmux_close(struct logmux *m)
{
    if (!m)
        return;
    for (struct log_stream *s = m->streams; s; s = s->next)
        end_stream(s);
    outputs_close(m->outputs);
    uv_close((uv_handle_t *)&m->open_files, on_closed);
    uv_close((uv_handle_t *)&m->tick, on_closed);
}
