/* SPDX-License-Identifier: Apache-2.0
 *
 * flood [--lines] LINES - writes LINES lines of 80 bytes to standard output, each with a write of
 * its own, as an unbuffered training program does. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    char line[81];
    long lines = argc > 1 ? strtol(argv[argc - 1], NULL, 10) : 1000000;

    memset(line, '.', sizeof(line));
    line[79] = '\n';
    for (long i = 0; i < lines; i++) {
        int n = snprintf(line, sizeof(line), "step %9ld loss 0.1234", i);

        line[n] = '.';
        if (write(STDOUT_FILENO, line, 80) != 80)
            return 1;
    }
    return 0;
}
