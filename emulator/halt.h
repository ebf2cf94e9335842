/* SPDX-License-Identifier: Apache-2.0
 *
 * halt - stops all processes of a pid namespace, one by one, where no control group can. */
#ifndef EMULATOR_HALT_H
#define EMULATOR_HALT_H
#include <stdbool.h>
#include <sys/types.h>

/* `init` is the first process of the namespace, which must be below the caller's; /proc must be the
 * caller's. Returns when all have been told, those too that were started meanwhile. */
void halt_all(pid_t init, bool on);
#endif
