/* SPDX-License-Identifier: Apache-2.0
 *
 * watch - a host's daemon as its rack sees it: its two streams, and its end. Output is given on as
 * it comes; the end is told once, when both streams have ended too, or a second later: a stray may
 * hold them.
 *
 * Owner: whoever embeds it; watch_close(), then `on_handle_closed` comes once for each handle that
 * was opened, here or before. */
#ifndef EMULATOR_WATCH_H
#define EMULATOR_WATCH_H
#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

#include "emulator/rack.h"

#define WATCH_STREAMS 2

struct watch;

struct watch_stream {
    uv_pipe_t pipe;
    struct watch *watch;
    bool open;
};

struct watch {
    struct watch_stream streams[WATCH_STREAMS];
    uv_timer_t limit;
    const struct rack_calls *calls;
    void *data; /* of the calls */
    size_t host;
    void (*on_handle_closed)(void *owner);
    void *owner;
    size_t *handles; /* the owner's count of those that are open */
    bool ended, told, closing;
    int status;
};

/* `calls` and `handles` are borrowed. The fields above that are not named here are 0. */
void watch_open(struct watch *w, uv_loop_t *loop);
void watch_read(struct watch *w, int stream, int fd); /* stream 0 or 1; takes over `fd` */
/* The daemon has ended; `status` as waitpid() has it. */
void watch_ended(struct watch *w, int status);
void watch_close(struct watch *w); /* no call follows */
#endif
