/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "run/signals.h"

#include <signal.h>
#include <stdbool.h>

#include "base/cleanup.h"
#include "run/events.h"

static const int watched[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2, SIGCONT};
static uv_signal_t handles[LENGTH(watched)];

static void on_signal(uv_signal_t *handle, int number)
{
    (void)handle;
    events_post((struct event){.kind = EV_SIGNAL, .value = number});
}

void signals_hold(void)
{
    sigset_t held;

    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN);
    (void)sigemptyset(&held);
    for (size_t i = 0; i < LENGTH(watched); i++)
        (void)sigaddset(&held, watched[i]);
    (void)sigprocmask(SIG_BLOCK, &held, NULL);
}

static bool is_unwanted(int number)
{
    struct sigaction now;

    return number == SIGHUP && sigaction(number, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

int signals_open(uv_loop_t *loop)
{
    sigset_t none;

    for (size_t i = 0; i < LENGTH(watched); i++) {
        int rc = uv_signal_init(loop, &handles[i]);

        if (!rc && !is_unwanted(watched[i]))
            rc = uv_signal_start(&handles[i], on_signal, watched[i]);
        if (rc)
            return rc;
        uv_unref((uv_handle_t *)&handles[i]);
    }
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    return 0;
}

void signals_close(void)
{
    for (size_t i = 0; i < LENGTH(watched); i++)
        uv_close((uv_handle_t *)&handles[i], NULL);
}
