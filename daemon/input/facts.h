/* SPDX-License-Identifier: Apache-2.0
 *
 * facts - looks at the machine, or reads a facts file. Starts no program, loads no driver. */
#ifndef INPUT_FACTS_H
#define INPUT_FACTS_H
#include "base/strv.h"
#include "core/facts.h"
#include "core/settings.h"

struct err;

/* Fills `facts` by looking; `container` gives PATH. */
void facts_look(struct facts *facts, const struct strv *container, const struct settings *settings,
                const char *instance_type);
/* How many nodes KIND0, KIND1, ... the folder `dev` has. */
unsigned facts_devices(const char *dev, const char *kind);
/* The version of a package from its metadata beside the Python at `python`, to free(); NULL: not
 * found. Python is not started. */
char *facts_package_version(const char *python, const char *package);
/* Overlays what the JSON object in `path` has (keys of a golden case's `facts`). BLAME_CONFIG. */
int facts_read(struct facts *facts, const char *path, struct err *err);
#endif
