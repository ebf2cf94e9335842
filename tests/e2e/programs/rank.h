/* SPDX-License-Identifier: Apache-2.0
 *
 * rank - what the small rank programs share. A story passes what it wants in environment variables
 * and finds what happened in files of its folder, $STORY/NAME.RANK. */
#ifndef PROGRAMS_RANK_H
#define PROGRAMS_RANK_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static inline const char *rank_text(const char *name, const char *otherwise)
{
    const char *value = getenv(name);

    return value && *value ? value : otherwise;
}

static inline long rank_number(const char *name, long otherwise)
{
    const char *value = getenv(name);

    return value && *value ? atol(value) : otherwise;
}

static inline long rank_self(void)
{
    return rank_number("RANK", 0);
}

/* $STORY/NAME.RANK, opened or the program ends. */
static inline FILE *rank_file(const char *name, const char *mode)
{
    char path[4096];
    FILE *file;

    snprintf(path, sizeof path, "%s/%s.%ld", rank_text("STORY", "."), name, rank_self());
    file = fopen(path, mode);
    if (!file) {
        perror(path);
        exit(99);
    }
    return file;
}

/* Waits until the story writes to $STORY/go.RANK. */
static inline void rank_wait_for_go(void)
{
    char line[16];
    FILE *gate = rank_file("go", "r");

    if (!fgets(line, sizeof line, gate))
        exit(98);
    fclose(gate);
}

static inline long long rank_wall_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

/* Work that takes this long. */
static inline void rank_work(long ms)
{
    struct timespec left = {ms / 1000, ms % 1000 * 1000000};

    while (nanosleep(&left, &left) != 0)
        ;
}
#endif
