/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "base/names.h"

#include <stdint.h>
#include <string.h>

#define NAME_MAX_LENGTH 128

size_t names_distance(const char *a, const char *b)
{
    size_t rows[3][NAME_MAX_LENGTH + 1];
    size_t *before = rows[0], *last = rows[1], *now = rows[2];
    size_t na = strlen(a), nb = strlen(b);

    if (na > NAME_MAX_LENGTH || nb > NAME_MAX_LENGTH)
        return SIZE_MAX;
    for (size_t j = 0; j <= nb; j++)
        last[j] = j;
    for (size_t i = 1; i <= na; i++) {
        size_t *oldest = before;

        now[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            size_t best = last[j - 1] + (a[i - 1] != b[j - 1]);

            if (last[j] + 1 < best)
                best = last[j] + 1;
            if (now[j - 1] + 1 < best)
                best = now[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            now[j] = best;
        }
        before = last;
        last = now;
        now = oldest;
    }
    return last[nb];
}

const char *names_nearest(const char *word, const char *const *names, size_t count)
{
    const char *best = NULL;
    size_t best_distance = SIZE_MAX;

    for (size_t i = 0; i < count; i++) {
        size_t longer = strlen(names[i]) > strlen(word) ? strlen(names[i]) : strlen(word);
        size_t distance = names_distance(word, names[i]);

        if (distance <= 4 && distance * 3 <= longer && distance < best_distance) {
            best = names[i];
            best_distance = distance;
        }
    }
    return best;
}
