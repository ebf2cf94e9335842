/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <stdint.h>

#include "emulator/emulation_parts.h"

static size_t count(const struct emulation *e, enum host_state state)
{
    size_t n = 0;

    for (size_t i = 0; i < e->n; i++)
        n += e->hosts[i].state == state;
    return n;
}

static bool is_due(const struct emulation *e, enum fault_kind kind)
{
    for (size_t i = 0; i < e->spec->n_faults; i++) {
        if (e->troubles[i].pending && e->troubles[i].fault->kind == kind)
            return true;
    }
    return false;
}

static void kill_host(struct emulation *e, size_t i)
{
    struct emulated *host = &e->hosts[i];

    host->killed = true;
    if (host->state == HOST_RUNNING) {
        rack_signal(e->rack, i, SIGKILL);
    } else if (host->state == HOST_WAITING) {
        host->state = HOST_ENDED;
        host->status = SIGKILL;
    }
}

void troubles_kill_all(struct emulation *e)
{
    for (size_t i = 0; i < e->n; i++) {
        if (e->hosts[i].state == HOST_RUNNING)
            kill_host(e, i);
    }
}

/* The job is over when no daemon runs any more. One in a frozen host would never end, and nobody is
 * left who could thaw it. */
void troubles_look_for_end(struct emulation *e)
{
    size_t running = count(e, HOST_RUNNING);
    size_t ended = count(e, HOST_ENDED);
    size_t frozen = 0;

    if (!running && (ended || e->stopping || !is_due(e, FAULT_LATE_START))) {
        e->over = true;
        uv_stop(&e->loop);
    }
    for (size_t i = 0; i < e->n; i++)
        frozen += e->hosts[i].state == HOST_RUNNING && e->hosts[i].frozen;
    if (ended && frozen == running && !is_due(e, FAULT_THAW))
        troubles_kill_all(e);
}

static void start(struct emulation *e, size_t host)
{
    if (e->hosts[host].state != HOST_WAITING || e->stopping)
        return;
    e->hosts[host].state = HOST_RUNNING;
    rack_start(e->rack, host);
}

static void apply(struct emulation *e, const struct fault *fault)
{
    struct emulated *host = &e->hosts[fault->host];

    switch (fault->kind) {
    case FAULT_LATE_START:
        start(e, fault->host);
        return;
    case FAULT_LATE_NAME:
        rack_name(e->rack, fault->host, true);
        return;
    case FAULT_KILL:
        if (host->state != HOST_ENDED)
            kill_host(e, fault->host);
        return;
    case FAULT_STOP:
        if (host->state != HOST_RUNNING)
            return;
        break;
    case FAULT_FREEZE:
    case FAULT_THAW:
        host->frozen = fault->kind == FAULT_FREEZE;
        break;
    default:
        break;
    }
    if (host->state != HOST_ENDED)
        fault_apply(fault, e->rack);
}

void troubles_make(struct emulation *e, const struct fault *fault)
{
    apply(e, fault);
    troubles_look_for_end(e);
}

static void on_trouble(uv_timer_t *timer)
{
    struct trouble *trouble = timer->data;

    trouble->pending = false;
    troubles_make(trouble->emulation, trouble->fault);
}

/* What a fault means before any daemon has started. */
static void prepare(struct emulation *e, const struct fault *fault)
{
    switch (fault->kind) {
    case FAULT_NO_START:
    case FAULT_LATE_START:
        e->hosts[fault->host].held = true;
        break;
    case FAULT_NO_NAME:
    case FAULT_LATE_NAME:
        rack_name(e->rack, fault->host, false);
        break;
    case FAULT_CUT:
    case FAULT_HEAL:
    case FAULT_DELAY:
    case FAULT_LOSS:
        if (fault->at_s <= 0)
            fault_apply(fault, e->rack);
        break;
    default:
        break;
    }
}

static bool comes_later(const struct fault *fault)
{
    return fault->at_s > 0 && (fault_is_live(fault) || fault->kind == FAULT_LATE_START ||
                               fault->kind == FAULT_LATE_NAME);
}

static bool comes_at_start(const struct fault *fault)
{
    return fault->at_s <= 0 && (fault->kind == FAULT_KILL || fault->kind == FAULT_STOP ||
                                fault->kind == FAULT_FREEZE || fault->kind == FAULT_THAW);
}

void troubles_begin(struct emulation *e)
{
    const struct emulation_spec *spec = e->spec;

    for (size_t i = 0; i < spec->n_faults; i++)
        prepare(e, &spec->faults[i]);
    for (size_t i = 0; i < e->n; i++) {
        if (!e->hosts[i].held)
            start(e, i);
    }
    for (size_t i = 0; i < spec->n_faults; i++) {
        struct trouble *trouble = &e->troubles[i];

        if (comes_at_start(trouble->fault))
            apply(e, trouble->fault);
        if (!comes_later(trouble->fault))
            continue;
        trouble->pending = true;
        (void)uv_timer_start(&trouble->timer, on_trouble, (uint64_t)(trouble->fault->at_s * 1000),
                             0);
    }
}
