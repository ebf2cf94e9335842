/* SPDX-License-Identifier: Apache-2.0
 *
 * devices - /dev of an emulated host: the harmless nodes, terminals and shared memory of its own,
 * and the machine's accelerators. */
#ifndef EMULATOR_DEVICES_H
#define EMULATOR_DEVICES_H
#include <stdbool.h>

struct err;

/* Makes it at the folder `at`. `gpus`: where the machine has none, as many files /dev/nvidia0 ...
 * are there to be counted; nothing answers behind them. */
int devices_mount(const char *at, unsigned gpus, bool rootless, struct err *err);
#endif
