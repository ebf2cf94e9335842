/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "emulator/watch.h"

#define EOF_LIMIT_MS 1000

static void look_if_ended(struct watch *w, bool late)
{
    if (!w->ended || w->told || w->closing || (!late && (w->streams[0].open || w->streams[1].open)))
        return;
    w->told = true;
    (void)uv_timer_stop(&w->limit);
    w->calls->on_exit(w->data, w->host, w->status);
}

static void on_limit(uv_timer_t *timer)
{
    look_if_ended(timer->data, true);
}

static void handle_closed(struct watch *w)
{
    --*w->handles;
    w->on_handle_closed(w->owner);
}

static void on_stream_closed(uv_handle_t *handle)
{
    handle_closed(((struct watch_stream *)handle->data)->watch);
}

static void on_timer_closed(uv_handle_t *handle)
{
    handle_closed(handle->data);
}

static void close_stream(struct watch_stream *s)
{
    if (s->open)
        uv_close((uv_handle_t *)&s->pipe, on_stream_closed);
    s->open = false;
}

static void on_alloc(uv_handle_t *handle, size_t wanted, uv_buf_t *out)
{
    static char bytes[65536];

    (void)handle;
    (void)wanted;
    *out = uv_buf_init(bytes, sizeof(bytes));
}

static void on_read(uv_stream_t *pipe, ssize_t n, const uv_buf_t *bytes)
{
    struct watch_stream *s = pipe->data;
    struct watch *w = s->watch;

    if (n > 0 && !w->closing)
        w->calls->on_output(w->data, w->host, (int)(s - w->streams) + 1, bytes->base, (size_t)n);
    if (n >= 0)
        return;
    close_stream(s);
    look_if_ended(w, false);
}

void watch_open(struct watch *w, uv_loop_t *loop)
{
    (void)uv_timer_init(loop, &w->limit);
    w->limit.data = w;
    ++*w->handles;
}

void watch_read(struct watch *w, int stream, int fd)
{
    struct watch_stream *s = &w->streams[stream];

    (void)uv_pipe_init(w->limit.loop, &s->pipe, 0);
    (void)uv_pipe_open(&s->pipe, fd);
    s->pipe.data = s;
    s->watch = w;
    s->open = true;
    ++*w->handles;
    (void)uv_read_start((uv_stream_t *)&s->pipe, on_alloc, on_read);
}

void watch_ended(struct watch *w, int status)
{
    w->ended = true;
    w->status = status;
    (void)uv_timer_start(&w->limit, on_limit, EOF_LIMIT_MS, 0);
    look_if_ended(w, false);
}

void watch_close(struct watch *w)
{
    w->closing = true;
    for (int i = 0; i < WATCH_STREAMS; i++)
        close_stream(&w->streams[i]);
    uv_close((uv_handle_t *)&w->limit, on_timer_closed);
}
