/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "launchers/launcher.h"

static void plan_plain(const struct job *job, const struct settings *settings, struct plan *plan,
                       struct findings *findings)
{
    (void)findings;
    launcher_add_ranks(job, settings, plan);
}

const struct launcher_ops launcher_plain = {"plain", launcher_one, plan_plain};
