/* SPDX-License-Identifier: Apache-2.0
 *
 * lastwords - rank 1 writes 2,000 numbered lines to stderr and aborts in the same instant; the
 * others wait for their end. $AT_ONCE: one write for all lines, else one for each. */
#include "rank.h"

#include <unistd.h>

int main(void)
{
    static char buffer[1 << 18];
    int i;

    if (rank_self() != 1) {
        pause();
        return 0;
    }
    setvbuf(stderr, buffer, getenv("AT_ONCE") ? _IOFBF : _IOLBF, sizeof buffer);
    for (i = 1; i <= 2000; i++)
        fprintf(stderr, "last word %d of a rank that is about to abort\n", i);
    fflush(stderr);
    abort();
}
