/* SPDX-License-Identifier: Apache-2.0
 *
 * bar - a progress bar: $UPDATES steps within $BAR_MS, "\r 50%" halfway where it waits for the
 * story, "\r100%\n" at the end (without the line's end if $ENDLESS). With $FAT each update is that
 * many bytes long. */
#include "rank.h"

#include <unistd.h>

int main(void)
{
    long updates = rank_number("UPDATES", 100);
    long pause_ms = rank_number("BAR_MS", 1000) / updates;
    int fat = (int)rank_number("FAT", 1);
    long i;

    for (i = 1; i <= updates; i++) {
        printf("\r%*s%3ld%%", fat, "", i * 100 / updates);
        fflush(stdout);
        if (i == updates / 2)
            rank_wait_for_go();
        else if (pause_ms > 0)
            rank_work(pause_ms);
    }
    if (!getenv("ENDLESS"))
        printf("\n");
    return 0;
}
