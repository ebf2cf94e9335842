/* SPDX-License-Identifier: Apache-2.0
 *
 * hog - takes memory until it is killed, or exits 0 once it has 512 MiB. */
#include "rank.h"

#include <sys/mman.h>

int main(void)
{
    size_t chunk = (size_t)1 << 20;
    int i;

    for (i = 0; i < 512; i++) {
        char *memory =
            mmap(NULL, chunk, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (memory == MAP_FAILED)
            return 1;
        memset(memory, i + 1, chunk);
    }
    return 0;
}
