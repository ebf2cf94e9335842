/* SPDX-License-Identifier: Apache-2.0
 *
 * inputs - the one way from options to a plan, for the daemon and for `serry plan` alike. */
#ifndef INPUT_INPUTS_H
#define INPUT_INPUTS_H
#include "core/job.h"
#include "core/plan.h"
#include "core/redact.h"
#include "core/settings.h"

struct inputs_options {
    const char *base;       /* --base, or NULL */
    const char *facts_file; /* --facts, or NULL */
    const char *as_host;    /* --as, or NULL */
    struct strv sets;       /* --set NAME=VALUE */
    struct strv container;  /* the environment at start */
};

struct inputs {
    char *base;
    struct settings settings;
    struct findings findings;
    struct tree tree;
    struct facts facts; /* taken over by the job in inputs_plan() */
    struct job *job;    /* NULL before inputs_plan() */
    struct plan *plan;
    struct plan *before; /* the plan until inputs_agree(); its names are still in use */
    struct redact *redact;
};

/* Reads files, settings and facts; decides nothing. Faults are in ->findings. */
void inputs_read(const struct inputs_options *options, struct inputs *in);
/* Makes job and plan; both are there afterwards, whatever the findings. The daemon may change
 * in->facts (port, own name) between the two calls. */
void inputs_plan(const struct inputs_options *options, struct inputs *in);
/* The hosts have met: `port` of rank 0, `host_ranks` of each host of in->plan (taken over), and an
 * interface that leads to the others, "" where it is not known, for a host that has not the one
 * that its configuration names. Makes the plan again; as many ranks are here as before. Once. */
void inputs_agree(struct inputs *in, unsigned port, unsigned *host_ranks, const char *interface);
void inputs_done(struct inputs *in);
#endif
