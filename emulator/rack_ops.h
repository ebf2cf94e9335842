/* SPDX-License-Identifier: Apache-2.0
 *
 * rack_ops - the two kinds of rack behind rack.h: hosts made of namespaces (isolated.c), and plain
 * processes (loose.c).
 *
 * Each kind embeds a struct rack as its first member; rack.c picks the kind and passes calls on.
 * Owner: the kind allocates what its open function returns; its close() frees it, when the last of
 * its handles is closed. `mode_text` may stay NULL at the opening; rack.c completes it, and frees
 * it before close(). */
#ifndef EMULATOR_RACK_OPS_H
#define EMULATOR_RACK_OPS_H
#include "emulator/rack.h"

/* What rack_start() and so on do; the arguments are in range. */
struct rack_ops {
    void (*start)(struct rack *r, size_t host);
    void (*signal)(struct rack *r, size_t host, int number);
    void (*freeze)(struct rack *r, size_t host, bool on);
    void (*name)(struct rack *r, size_t host, bool known);
    void (*road)(struct rack *r, size_t from, size_t to, bool cut, unsigned delay_ms, double loss);
    void (*exec)(struct rack *r, size_t host, char *const *argv, char *const *env, const int fds[3],
                 unsigned id);
    void (*close)(struct rack *r);
};

struct rack {
    const struct rack_ops *ops;
    enum rack_mode mode;
    char *mode_text;
    size_t n; /* hosts */
};

/* Both as rack_open(), for one mode: they set `ops`, `mode` and `n`. `spec`, its strings and
 * `calls` are the caller's and may be gone after the return: what is needed later is copied. */
struct rack *isolated_open(uv_loop_t *loop, const struct rack_spec *spec,
                           const struct rack_calls *calls, void *data, struct err *err);
struct rack *loose_open(uv_loop_t *loop, const struct rack_spec *spec,
                        const struct rack_calls *calls, void *data, struct err *err);
#endif
