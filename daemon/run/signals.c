/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "run/signals.h"

#include "base/cleanup.h"
#include "run/events.h"

#include <signal.h>

static const int watched[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2, SIGCONT};
static uv_signal_t handles[LENGTH(watched)];

static void on_signal(uv_signal_t *handle, int number)
{
    (void)handle;
    events_post((struct event){.kind = EV_SIGNAL, .value = number});
}

int signals_open(uv_loop_t *loop)
{
    int rc = 0;

    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN);
    for (size_t i = 0; i < LENGTH(watched) && !rc; i++) {
        rc = uv_signal_init(loop, &handles[i]);
        if (!rc)
            rc = uv_signal_start(&handles[i], on_signal, watched[i]);
        uv_unref((uv_handle_t *)&handles[i]);
    }
    return rc;
}

void signals_close(void)
{
    for (size_t i = 0; i < LENGTH(watched); i++)
        uv_close((uv_handle_t *)&handles[i], NULL);
}
