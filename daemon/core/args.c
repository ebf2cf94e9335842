/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/utf8.h"
#include "core/env.h"
#include "core/job.h"

static void add_option(struct strv *out, const char *name)
{
    size_t characters = utf8_count(name, strlen(name));

    strv_addf(out, "%s%s", characters == 0 ? "" : characters == 1 ? "-" : "--", name);
}

void args_build(const struct job *job, struct strv *out)
{
    size_t n = 0;
    auto_free struct json_member *sorted = json_sorted(job->hyperparameters, &n);

    for (size_t i = 0; i < n; i++) {
        auto_free char *value = json_arg_text(sorted[i].node);

        add_option(out, sorted[i].node->string);
        strv_add(out, value);
    }
}
