/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "base/clock.h"

#include <stdio.h>
#include <time.h>

static uint64_t read_ms(clockid_t clock)
{
    struct timespec now = {0, 0};

    (void)clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

uint64_t clock_ms(void)
{
    return read_ms(CLOCK_MONOTONIC);
}

uint64_t clock_wall_ms(void)
{
    return read_ms(CLOCK_REALTIME);
}

const char *clock_text(uint64_t wall_ms, char *text, size_t size)
{
    time_t seconds = (time_t)(wall_ms / 1000);
    struct tm parts;
    size_t n;

    gmtime_r(&seconds, &parts);
    n = strftime(text, size, "%Y-%m-%dT%H:%M:%S", &parts);
    (void)snprintf(text + n, size - n, ".%03uZ", (unsigned)(wall_ms % 1000));
    return text;
}
