/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "run/outputs.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "run/console.h"

struct outputs {
    struct console *consoles[2]; /* the second is NULL where both are the same thing */
    void (*on_room)(void *data);
    void *user;
    uv_timer_t limit;
    uint64_t finish_ms, idle_ms, deadline_ms;
    void (*on_done)(void *data); /* NULL: nobody waits */
    void *done_user;
};

static bool is_same(int a, int b)
{
    struct stat one, other;

    return fstat(a, &one) == 0 && fstat(b, &other) == 0 && one.st_dev == other.st_dev &&
           one.st_ino == other.st_ino;
}

static void look(struct outputs *o);

static void on_console_room(void *data)
{
    struct outputs *o = data;

    if (o->on_room)
        o->on_room(o->user);
    look(o);
}

struct outputs *outputs_open(uv_loop_t *loop, int out_fd, int err_fd, void (*on_room)(void *data),
                             void *data)
{
    struct outputs *o = mem_zero(sizeof(*o));

    o->on_room = on_room;
    o->user = data;
    o->limit.data = o;
    (void)uv_timer_init(loop, &o->limit);
    o->consoles[0] = console_open(loop, out_fd, on_console_room, o);
    if (!is_same(out_fd, err_fd))
        o->consoles[1] = console_open(loop, err_fd, on_console_room, o);
    return o;
}

struct console *outputs_console(const struct outputs *o, bool is_err)
{
    return is_err && o->consoles[1] ? o->consoles[1] : o->consoles[0];
}

static void give_up(struct outputs *o)
{
    size_t lost = 0;

    for (size_t i = 0; i < LENGTH(o->consoles) && o->consoles[i]; i++) {
        lost += console_pending(o->consoles[i]);
        console_give_up(o->consoles[i]);
    }
    log_warning("%zu bytes of output did not reach the console: nobody read them in time", lost);
}

void outputs_flush(struct outputs *o)
{
    for (size_t i = 0; i < LENGTH(o->consoles) && o->consoles[i]; i++)
        console_flush(o->consoles[i]);
}

static void on_limit(uv_timer_t *handle)
{
    struct outputs *o = handle->data;

    outputs_flush(o);
    look(o);
}

/* Ends the wait if it is time. */
static void look(struct outputs *o)
{
    uint64_t now = clock_ms(), end = o->finish_ms;
    size_t pending = 0;

    if (!o->on_done)
        return;
    for (size_t i = 0; i < LENGTH(o->consoles) && o->consoles[i]; i++) {
        uint64_t last = console_progress_ms(o->consoles[i]);

        pending += console_pending(o->consoles[i]);
        end = last > end ? last : end;
    }
    end += o->idle_ms;
    if (o->deadline_ms && o->deadline_ms < end)
        end = o->deadline_ms;
    if (pending && now < end) {
        (void)uv_timer_start(&o->limit, on_limit, end - now, 0);
        return;
    }
    if (pending)
        give_up(o);
    (void)uv_timer_stop(&o->limit);
    TAKE(o->on_done)(o->done_user);
}

void outputs_finish(struct outputs *o, uint64_t idle_ms, uint64_t deadline_ms,
                    void (*on_done)(void *data), void *data)
{
    o->finish_ms = clock_ms();
    o->idle_ms = idle_ms;
    o->deadline_ms = deadline_ms;
    o->on_done = on_done;
    o->done_user = data;
    (void)uv_timer_start(&o->limit, on_limit, 0, 0);
}

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void outputs_close(struct outputs *o)
{
    o->on_room = NULL;
    o->on_done = NULL;
    for (size_t i = 0; i < LENGTH(o->consoles) && o->consoles[i]; i++)
        console_close(TAKE(o->consoles[i]));
    uv_close((uv_handle_t *)&o->limit, on_closed);
}
