/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "input/inputs.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "input/facts.h"
#include "input/settings.h"
#include "input/tree.h"
#include "launchers/launcher.h"

static const char *instance_type(const struct tree *tree)
{
    const char *type = json_string(json_get(tree->resourceconfig, "current_instance_type"));

    return type ? type : "local";
}

/* What the machine has, or what a file says of another one; the setting `python` beats both. */
static void read_facts(const struct inputs_options *options, struct inputs *in)
{
    struct err err = ERR_INIT;
    auto_free char *python = NULL;

    facts_look(&in->facts, &options->container, &in->settings, instance_type(&in->tree));
    if (!options->facts_file)
        return;
    if (*in->settings.python)
        python = mem_dup(in->facts.python);
    if (facts_read(&in->facts, options->facts_file, &err) < 0)
        findings_err(&in->findings, &err);
    if (*in->settings.python) {
        free(in->facts.python);
        in->facts.python = TAKE(python);
    }
}

void inputs_read(const struct inputs_options *options, struct inputs *in)
{
    *in = (struct inputs){0};
    in->base = tree_base(options->base, &options->container);
    tree_read(in->base, &in->tree, &in->findings);
    settings_gather(&in->settings, &in->tree, &options->container, &options->sets, &in->findings);
    read_facts(options, in);
}

void inputs_plan(const struct inputs_options *options, struct inputs *in)
{
    if (!in->facts.master_port) /* the daemon has asked which one is free, a plan has not */
        in->facts.master_port = (unsigned)in->settings.master_port;
    in->job = job_new(&in->tree, &options->container, &in->facts, options->as_host, &in->findings);
    job_find_entry(in->job, tree_list, &in->findings);
    in->redact = redact_new();
    redact_learn_job(in->redact, in->job);
    in->plan = launcher_plan(in->job, &in->settings, &in->findings);
}

void inputs_agree(struct inputs *in, unsigned port, unsigned *host_ranks, const char *interface)
{
    const char *named = json_string(json_get(in->tree.resourceconfig, "network_interface_name"));
    struct job *job = in->job;

    job->facts.master_port = port;
    if (!launcher_outside(job))
        job->facts.host_ranks = TAKE(host_ranks);
    free(host_ranks);
    if (*interface && !strv_has(&job->facts.interfaces, named ? named : "eth0")) {
        free(job->interface);
        job->interface = mem_dup(interface);
    }
    in->before = in->plan;
    in->plan = launcher_plan(job, &in->settings, &in->findings);
}

void inputs_done(struct inputs *in)
{
    plan_free(in->plan);
    plan_free(in->before);
    redact_free(in->redact);
    job_free(in->job);
    facts_done(&in->facts);
    tree_done(&in->tree);
    settings_done(&in->settings);
    findings_done(&in->findings);
    free(in->base);
    *in = (struct inputs){0};
}
