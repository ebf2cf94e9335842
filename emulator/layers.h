/* SPDX-License-Identifier: Apache-2.0
 *
 * layers - the caller's folders as a host sees them: private layers over some, the rest read-only.
 *
 * Covers /tmp of the mount namespace with what is thrown away at its end: the layers' upper
 * folders, and the host's root. */
#ifndef EMULATOR_LAYERS_H
#define EMULATOR_LAYERS_H
#include <stdbool.h>

struct err;

#define LAYERS_ROOT "/tmp/root"

struct layers {
    const char *name; /* of the host */
    bool rootless;
    bool single;
};

/* `table`: the text of /proc/self/mountinfo. Leaves /proc, /sys, /dev, /run and /tmp empty. */
int layers_mount(const struct layers *l, const char *table, struct err *err);
#endif
