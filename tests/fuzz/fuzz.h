/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz - what every fuzz_NAME.c defines and uses. */
#ifndef FUZZ_FUZZ_H
#define FUZZ_FUZZ_H
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* libFuzzer's entry; replay.c calls it with each file of the corpus. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What must hold for every input. */
#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition))                                                                          \
            abort();                                                                               \
    } while (0)
#endif
