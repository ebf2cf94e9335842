/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <stdio.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "ctl/verbs.h"

static void add_json(struct buf *out, const struct inputs *in, const struct redact *redact)
{
    auto_json cJSON *object = plan_json(in->plan, &in->findings, redact);

    ctl_add_json(out, object);
}

/* The fatal findings are no part of what could be run: they go to standard error. */
static void tell_errors(const struct inputs *in)
{
    for (size_t i = 0; i < in->findings.n; i++) {
        auto_free char *text = redact_text(in->redact, in->findings.v[i].text);

        if (in->findings.v[i].fatal)
            (void)fprintf(stderr, "serry: error: %s\n", text);
    }
}

int ctl_plan(int argc, char **argv)
{
    struct ctl_options options;
    struct inputs in;
    auto_buf struct buf out = {0};
    int status;

    if (!ctl_options_read(&options, "plan", argc, argv, &status)) {
        ctl_options_done(&options);
        return status;
    }
    inputs_read(&options.inputs, &in);
    inputs_plan(&options.inputs, &in);
    (options.json ? add_json : plan_text)(&out, &in, options.secrets ? NULL : in.redact);
    status = ctl_print(&out);
    if (!status)
        status = ctl_status(&in.findings);
    tell_errors(&in);
    inputs_done(&in);
    ctl_options_done(&options);
    return status;
}
