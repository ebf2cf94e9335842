/* SPDX-License-Identifier: Apache-2.0
 *
 * rootcause - which of its ranks failed first, as torchrun says it at its end:
 *
 *     Root Cause (first observed failure):
 *     [0]:
 *       time      : 2024-01-01_00:00:00
 *       host      : algo-1
 *       rank      : 1 (local_rank: 1)
 *       exitcode  : 1 (pid: 77)
 *       error_file: <N/A>
 *
 * Source: torch.distributed.elastic.multiprocessing.errors. */
#ifndef CORE_ROOTCAUSE_H
#define CORE_ROOTCAUSE_H
#include <stddef.h>

/* "rank 1 on algo-1: exitcode 1 (pid: 77)", of what the tail still has; to free(). NULL: no such
 * block, or one without a rank. Bytes are as they came. */
char *rootcause_text(const char *tail, size_t n);
#endif
