/* SPDX-License-Identifier: Apache-2.0
 *
 * facts - what is known of the machine before a decision. A plain value; input/facts fills it.
 * Owner: facts_done(). */
#ifndef CORE_FACTS_H
#define CORE_FACTS_H
#include "base/strv.h"

#include <stdbool.h>
#include <stddef.h>

struct facts {
    unsigned num_cpus;    /* online processors, at least 1 */
    unsigned num_gpus;    /* 0: none */
    unsigned num_neurons; /* Neuron cores */
    bool smddprun;        /* on PATH */
    bool smddpmprun;
    char *torch_version; /* from package metadata; NULL: no torch */
    bool torch_xla;
    char *python;              /* absolute path; NULL: no Python found */
    const char *python_fault;  /* what the setting `python` names instead, or NULL; static */
    struct strv python_path;   /* module search path, known only from a facts file */
    char *gethostname_library; /* preload, known only from a facts file */
    char *bucket_region;       /* S3's answer; NULL: not asked */
    struct strv interfaces;    /* network interfaces of this host; empty: not looked at */
    unsigned master_port;      /* agreed port of rank 0; 0: the setting's */
    unsigned *host_ranks;      /* ranks on each host of the distribution, in its order, as the hosts
                                  agreed; NULL: on each as many as here */
    size_t arg_room;           /* bytes that arguments and variables may take; 0: not looked at */
    bool own_name_resolves;    /* false: a job of one host uses 127.0.0.1 */
    bool given;                /* from --facts: describes some other machine */
};

void facts_done(struct facts *f);
#endif
