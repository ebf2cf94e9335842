/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "emulator/rack.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "emulator/rack_ops.h"

static const char *const names[] = {
    [RACK_ROOT] = "root",
    [RACK_RANGE] = "user namespaces, a range of uids",
    [RACK_SINGLE] = "user namespaces, one uid",
    [RACK_LOOSE] = "no isolation",
};

static struct rack *open_as(enum rack_mode mode, uv_loop_t *loop, const struct rack_spec *spec,
                            const struct rack_calls *calls, void *data, struct err *err)
{
    struct rack_spec as = *spec;

    as.mode = mode;
    return mode == RACK_LOOSE ? loose_open(loop, &as, calls, data, err)
                              : isolated_open(loop, &as, calls, data, err);
}

/* The best that works; `refused` collects why the better ones do not. A mistake of the user's, or a
 * wish that cannot be had, is none of the modes' fault. */
static struct rack *open_best(uv_loop_t *loop, const struct rack_spec *spec,
                              const struct rack_calls *calls, void *data, struct buf *refused,
                              struct err *err)
{
    static const enum rack_mode modes[] = {RACK_ROOT, RACK_RANGE, RACK_SINGLE, RACK_LOOSE};
    struct rack *r = NULL;

    for (size_t i = 0; i < LENGTH(modes) && !r; i++) {
        if ((modes[i] == RACK_ROOT) != (geteuid() == 0) && modes[i] != RACK_LOOSE)
            continue;
        *err = (struct err)ERR_INIT;
        r = open_as(modes[i], loop, spec, calls, data, err);
        if (!r && (err->blame != BLAME_PLATFORM || err->code == -EOPNOTSUPP))
            return NULL;
        if (!r)
            buf_printf(refused, "%s%s: %s", refused->len ? "; " : "", names[modes[i]], err->text);
    }
    return r;
}

struct rack *rack_open(uv_loop_t *loop, const struct rack_spec *spec,
                       const struct rack_calls *calls, void *data, struct err *err)
{
    auto_buf struct buf refused = {0};
    struct rack *r = spec->mode == RACK_AUTO ? open_best(loop, spec, calls, data, &refused, err)
                                             : open_as(spec->mode, loop, spec, calls, data, err);

    if (!r)
        return NULL;
    if (!r->mode_text)
        r->mode_text = mem_dup(names[r->mode]);
    if (refused.len) {
        auto_free char *text = TAKE(r->mode_text);

        r->mode_text = mem_printf("%s (%s)", text, buf_text(&refused));
    }
    return r;
}

enum rack_mode rack_mode(const struct rack *r)
{
    return r->mode;
}

const char *rack_mode_text(const struct rack *r)
{
    return r->mode_text;
}

void rack_start(struct rack *r, size_t host)
{
    r->ops->start(r, host);
}

void rack_signal(struct rack *r, size_t host, int number)
{
    r->ops->signal(r, host, number);
}

void rack_freeze(struct rack *r, size_t host, bool on)
{
    r->ops->freeze(r, host, on);
}

void rack_name(struct rack *r, size_t host, bool known)
{
    r->ops->name(r, host, known);
}

void rack_road(struct rack *r, size_t from, size_t to, bool cut, unsigned delay_ms, double loss)
{
    r->ops->road(r, from, to, cut, delay_ms, loss);
}

void rack_exec(struct rack *r, size_t host, char *const *argv, char *const *env, const int fds[3],
               unsigned id)
{
    r->ops->exec(r, host, argv, env, fds, id);
}

void rack_close(struct rack *r)
{
    if (!r)
        return;
    free(TAKE(r->mode_text));
    r->ops->close(r);
}
