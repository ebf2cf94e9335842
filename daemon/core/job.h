/* SPDX-License-Identifier: Apache-2.0
 *
 * job - everything known before a decision: configuration files, environment, facts.
 *
 * Made once by job_new() and const from then on. Paths are absolute, without a slash at the end.
 * Source: docs/contract.md, sections 1 to 8 and 10. */
#ifndef CORE_JOB_H
#define CORE_JOB_H
#include "base/json.h"
#include "base/strv.h"
#include "core/facts.h"
#include "core/findings.h"

#include <stdbool.h>

/* Whose rules hold (SAGEMAKER_TRAINING_MODULE). LAYER_OWN: the variable is not set, an image of the
 * user's own: every launcher is honoured. LAYER_BASE: it names something we do not know. */
enum layer { LAYER_OWN, LAYER_BASE, LAYER_PYTORCH, LAYER_TENSORFLOW };

/* Launchers that a job can ask for by a sagemaker_*_enabled flag. */
enum want {
    WANT_MPI,
    WANT_PARAMETER_SERVER,
    WANT_DATAPARALLEL,
    WANT_PYTORCH_DDP,
    WANT_XLA,
    WANT_MIRRORED,
    WANT_TORCH,
    WANT_COUNT
};
extern const char *const want_keys[WANT_COUNT]; /* "sagemaker_mpi_enabled", ... */

enum entry_kind { ENTRY_NONE, ENTRY_SCRIPT, ENTRY_PACKAGE, ENTRY_COMMAND, ENTRY_MODULE };

/* The files below <base>/input/config as they lie there, and the code folder's top level. Made by
 * input/tree; each tree is an object or NULL where the file is not there. */
struct tree {
    char *base;
    cJSON *hyperparameters;
    cJSON *resourceconfig;
    cJSON *inputdataconfig;
};

struct job {
    char *base; /* "/opt/ml" */
    enum layer layer;
    char *framework_module; /* SAGEMAKER_TRAINING_MODULE or NULL */
    char *training_job;     /* TRAINING_JOB_NAME or NULL */
    struct strv container;  /* the environment the container had: NAME=VALUE */

    /* hyperparameters.json; objects in file order, values decoded (section 3) */
    cJSON *hyperparameters; /* the user's */
    cJSON *framework;       /* SM_FRAMEWORK_PARAMS */
    char *program;          /* entry point, NULL if none was named */
    char *submit_dir;       /* SM_MODULE_DIR: folder, file or s3:// address */
    bool in_place;          /* S-37: the image named a folder; the code runs there as it lies */
    cJSON *log_level;       /* sagemaker_container_log_level; 20 by default */
    char *job_name;         /* sagemaker_job_name, "" if not there */
    char *region;           /* SAGEMAKER_REGION of section 8.3, "" if unknown */
    bool want[WANT_COUNT];
    unsigned per_host;  /* processes per host as asked; 0: not asked */
    char *model_dir_tf; /* TensorFlow's rewritten model_dir (12.7), NULL if not rewritten */

    /* resourceconfig.json */
    cJSON *resource_config; /* of the host this job is for, for SM_RESOURCE_CONFIG */
    char *host;             /* current_host */
    struct strv hosts;      /* as given, never sorted */
    char *instance_type;    /* "local" by default */
    char *group;            /* current_group_name */
    char *interface;        /* one that exists, where that was looked at */
    cJSON *groups;          /* instance_groups, a list, maybe empty */
    cJSON *topology;        /* a list, maybe empty */
    struct strv group_names;
    struct strv group_hosts; /* of the current group */
    struct strv dist_groups; /* distribution groups (section 6) */
    struct strv dist_hosts;
    char *leader; /* first distribution host, else first host */
    bool is_leader;
    bool takes_part; /* the current group is a distribution group */

    /* inputdataconfig.json */
    cJSON *channels; /* object in file order */

    /* code */
    char *code_dir;         /* where the program runs: <base>/code, or submit_dir if in_place */
    struct strv code_files; /* names at the top level of what will be there */
    bool code_fetch;        /* code_dir is empty: it must come from submit_dir first */
    bool code_unknown;      /* code_files is not known before that (an archive, s3://) */
    enum entry_kind entry;
    char *entry_module; /* dotted name for package and module, else NULL */

    struct facts facts;
};

/* Joins tree, the container's environment and facts. `as_host` (NULL: the tree's own) plans for
 * another host of the same job. Takes over `facts` (emptied); `tree` and `container` stay the
 * caller's. Never NULL: what cannot be known is empty, and `findings` says so. */
struct job *job_new(const struct tree *tree, const struct strv *container, struct facts *facts,
                    const char *as_host, struct findings *findings);
void job_free(struct job *job);
char *job_path(const struct job *job, const char *below); /* <base>/BELOW, to free() */
/* The hosts by the bytes of their names: an order that all hosts have alike. Added to `out`. */
void job_sorted_hosts(const struct job *job, struct strv *out);
/* The host on which the daemons of all hosts meet: the leader, where all have the same one; else,
 * if each group is a distribution of its own, the first host of the job. */
const char *job_meeting_host(const struct job *job);
bool job_is_hetero(const struct job *job);
/* The level asked for, from 10 (debug) to 50 (critical), whether it was a number or a name. */
int job_log_level(const struct job *job);

/* input/tree lists the code folder between these two: what job_new() needs to know of it comes in
 * by a function, so that core does no I/O. Names at the top level of `dir`, sorted. 0, or a
 * negative errno: -ENOENT, -ENOTDIR, -EACCES, ... */
typedef int (*job_lister)(const char *dir, struct strv *names);
void job_find_entry(struct job *job, job_lister list, struct findings *findings);

void tree_done(struct tree *tree);
#endif
