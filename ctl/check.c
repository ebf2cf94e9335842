/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/utf8.h"
#include "ctl/verbs.h"

static const char *severity(const struct finding *finding)
{
    return finding->fatal ? "error" : "warning";
}

static void add_text(struct buf *out, const struct inputs *in)
{
    size_t errors = 0, warnings = 0;

    for (size_t i = 0; i < in->findings.n; i++) {
        const struct finding *finding = &in->findings.v[i];
        auto_free char *text = redact_text(in->redact, finding->text);

        buf_printf(out, "%s: %s\n", severity(finding), text);
        ++*(finding->fatal ? &errors : &warnings);
    }
    for (size_t i = 0; i < in->plan->not_yet.n; i++, warnings++) {
        auto_free char *text = redact_text(in->redact, in->plan->not_yet.v[i]);

        buf_printf(out, "warning: %s\n", text);
    }
    buf_printf(out, "%zu error%s, %zu warning%s\n", errors, errors == 1 ? "" : "s", warnings,
               warnings == 1 ? "" : "s");
}

static void add_finding(cJSON *list, const struct inputs *in, const struct finding *finding)
{
    auto_free char *text = redact_text(in->redact, finding->text);
    cJSON *item = cJSON_CreateObject();

    json_add_string(item, "severity", severity(finding));
    json_add_string(item, "blame", err_blame_name(finding->blame));
    json_add_string(item, "text", text);
    cJSON_AddItemToArray(list, item);
}

static void add_json(struct buf *out, const struct inputs *in)
{
    auto_json cJSON *object = cJSON_CreateObject();
    cJSON *list = cJSON_CreateArray();

    for (size_t i = 0; i < in->findings.n; i++)
        add_finding(list, in, &in->findings.v[i]);
    for (size_t i = 0; i < in->plan->not_yet.n; i++)
        add_finding(list, in,
                    &(struct finding){.blame = BLAME_SELF, .text = in->plan->not_yet.v[i]});
    json_add(object, "findings", list);
    json_add(object, "ok", cJSON_CreateBool(!findings_first_fatal(&in->findings)));
    ctl_add_json(out, object);
}

int ctl_check(int argc, char **argv)
{
    struct ctl_options options;
    struct inputs in;
    auto_buf struct buf out = {0};
    int status;

    if (!ctl_options_read(&options, "check", argc, argv, &status)) {
        ctl_options_done(&options);
        return status;
    }
    inputs_read(&options.inputs, &in);
    inputs_plan(&options.inputs, &in);
    (options.json ? add_json : add_text)(&out, &in);
    status = ctl_print(&out);
    if (!status)
        status = ctl_status(&in.findings);
    inputs_done(&in);
    ctl_options_done(&options);
    return status;
}
