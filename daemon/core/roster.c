/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/roster.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "core/testimony.h"

#define UNKNOWN_REASON "has not come"

/* Who fails before it is ready reports from there. What has reported is not lost any more. */
static const struct {
    enum roster_state in;
    enum roster_event on;
    enum roster_state to;
} edges[] = {
    {ROSTER_ABSENT, ROSTER_COMES,      ROSTER_HERE    },
    {ROSTER_HERE,   ROSTER_GETS_READY, ROSTER_READY   },
    {ROSTER_HERE,   ROSTER_REPORTS,    ROSTER_REPORTED},
    {ROSTER_READY,  ROSTER_REPORTS,    ROSTER_REPORTED},
    {ROSTER_HERE,   ROSTER_GETS_LOST,  ROSTER_LOST    },
    {ROSTER_READY,  ROSTER_GETS_LOST,  ROSTER_LOST    },
};

void roster_add(struct roster *r, const char *name)
{
    if (roster_find(r, name))
        return;
    r->hosts = mem_grow(r->hosts, r->n + 1, sizeof(*r->hosts));
    r->hosts[r->n++] = (struct roster_host){.name = mem_dup(name)};
}

void roster_done(struct roster *r)
{
    for (size_t i = 0; i < r->n; i++) {
        free(r->hosts[i].name);
        free(r->hosts[i].reason);
        testimony_free(r->hosts[i].testimony);
    }
    free(r->hosts);
    *r = (struct roster){0};
}

struct roster_host *roster_find(const struct roster *r, const char *name)
{
    for (size_t i = 0; i < r->n; i++)
        if (strcmp(r->hosts[i].name, name) == 0)
            return &r->hosts[i];
    return NULL;
}

bool roster_step(struct roster_host *host, enum roster_event event)
{
    for (size_t i = 0; i < LENGTH(edges); i++) {
        if (edges[i].in == host->state && edges[i].on == event) {
            host->state = edges[i].to;
            return true;
        }
    }
    return false;
}

const char *roster_state_name(enum roster_state state)
{
    static const char *const names[ROSTER_STATES] = {"absent", "here", "ready", "reported", "lost"};

    return names[state];
}

void roster_reason(struct roster_host *host, const char *reason, bool firm)
{
    if (host->firm && !firm)
        return;
    host->firm = firm;
    free(host->reason);
    host->reason = mem_dup(reason);
}

/* ---- signs of life -------------------------------------------------------------------------- */

void roster_heard(struct roster_host *host, uint64_t when_ms)
{
    if (when_ms > host->heard_ms)
        host->heard_ms = when_ms;
}

void roster_slept(struct roster *r, uint64_t gap_ms, uint64_t now_ms)
{
    for (size_t i = 0; i < r->n; i++) {
        uint64_t *heard_ms = &r->hosts[i].heard_ms;

        if (*heard_ms && *heard_ms < now_ms)
            *heard_ms = gap_ms < now_ms - *heard_ms ? *heard_ms + gap_ms : now_ms;
    }
}

bool roster_is_silent(const struct roster_host *host, uint64_t now_ms, uint64_t limit_ms)
{
    return host->heard_ms < now_ms && now_ms - host->heard_ms > limit_ms;
}

void roster_pong(struct roster_host *host, int64_t sent_ms, int64_t mine_ms, int64_t now_ms)
{
    int64_t trip_ms = now_ms - sent_ms;

    if (sent_ms < 0 || mine_ms < 0 || trip_ms < 0 || (host->measured && trip_ms >= host->trip_ms))
        return;
    host->measured = true;
    host->trip_ms = trip_ms;
    host->ahead_ms = mine_ms - (sent_ms + trip_ms / 2);
}

/* ---- questions ------------------------------------------------------------------------------ */

size_t roster_count(const struct roster *r, unsigned states)
{
    size_t n = 0;

    for (size_t i = 0; i < r->n; i++)
        n += (states & ROSTER_BIT(r->hosts[i].state)) != 0;
    return n;
}

char *roster_text(const struct roster *r, unsigned states, bool reasons, size_t most)
{
    auto_buf struct buf text = {0};
    size_t n = 0;

    for (size_t i = 0; i < r->n; i++) {
        const struct roster_host *host = &r->hosts[i];

        if (!(states & ROSTER_BIT(host->state)) || n++ >= most)
            continue;
        buf_printf(&text, "%s%s", n > 1 ? ", " : "", host->name);
        if (reasons)
            buf_printf(&text, " (%s)", host->reason ? host->reason : UNKNOWN_REASON);
    }
    if (n > most)
        buf_printf(&text, " and %zu more", n - most);
    return buf_take(&text);
}

bool roster_early_final(const struct roster *r)
{
    for (size_t i = 0; i < r->n; i++)
        if (r->hosts[i].testimony && r->hosts[i].testimony->early_final)
            return true;
    return false;
}

static struct outcome lost_outcome(const struct roster_host *host, bool leader)
{
    return (struct outcome){.host = host->name,
                            .started = true,
                            .ended = true,
                            .exit_code = -1,
                            .end_ms = host->heard_ms,
                            .lost = host->reason,
                            .leader = leader};
}

struct outcome *roster_outcomes(const struct roster *r, bool leader, size_t *n)
{
    struct outcome *all = NULL;

    *n = 0;
    for (size_t i = 0; i < r->n; i++) {
        const struct roster_host *host = &r->hosts[i];
        const struct testimony *told = host->testimony;

        if (told) {
            all = mem_grow(all, *n + told->n + 1, sizeof(*all));
            if (told->n)
                memcpy(all + *n, told->outcomes, told->n * sizeof(*all));
            *n += told->n;
        }
        if (host->state == ROSTER_LOST) {
            all = mem_grow(all, *n + 1, sizeof(*all));
            all[(*n)++] = lost_outcome(host, leader);
        }
    }
    return all ? all : mem_zero(sizeof(*all));
}
