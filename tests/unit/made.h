/* SPDX-License-Identifier: Apache-2.0
 *
 * made - a job and its plan out of a few texts, for the tests of launchers. */
#ifndef TESTS_MADE_H
#define TESTS_MADE_H
#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "core/job.h"
#include "core/settings.h"
#include "launchers/launcher.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ONE_HOST "{\"current_host\": \"algo-1\", \"hosts\": [\"algo-1\"]}"
#define TWO_HOSTS                                                                                  \
    "{\"current_host\": \"algo-1\", \"hosts\": [\"algo-1\", \"algo-2\"],"                          \
    " \"current_group_name\": \"g\", \"instance_groups\": [{\"instance_group_name\": \"g\","       \
    " \"instance_type\": \"ml.m5.xlarge\", \"hosts\": [\"algo-1\", \"algo-2\"]}]}"
#define TWO_GROUPS                                                                                 \
    "{\"current_host\": \"algo-1\", \"hosts\": [\"algo-1\", \"algo-2\", \"algo-3\"],"              \
    " \"current_group_name\": \"a\", \"instance_groups\": ["                                       \
    "{\"instance_group_name\": \"a\", \"instance_type\": \"ml.m5.xlarge\","                        \
    " \"hosts\": [\"algo-1\"]}, {\"instance_group_name\": \"b\", \"instance_type\":"               \
    " \"ml.m5.xlarge\", \"hosts\": [\"algo-2\", \"algo-3\"]}]}"

/* What a test gives; all may be NULL or 0. */
struct given {
    const char *resources; /* resourceconfig.json; ONE_HOST */
    const char *hyper;     /* hyperparameters.json beyond sagemaker_program */
    const char *program;   /* "train.py" */
    const char *files;     /* names in the code folder with blanks between; the program */
    const char *variables; /* NAME=VALUE with blanks between, beyond PATH */
    const char *set;       /* "torch.launcher=exec", with blanks between */
    const char *as_host;
    const unsigned *host_ranks;   /* of two hosts, as agreed; NULL: not yet */
    unsigned gpus, neurons, cpus; /* 4 CPUs */
    const char *python;           /* "/usr/bin/python3"; "" for none */
    const char *python_fault;
    const char *torch_version;
    bool unresolved; /* the own name does not resolve */
};

struct made {
    struct findings findings;
    struct settings settings;
    struct job *job;
    struct plan *plan;
};

static const char *made_files; /* of the made_list() that job_find_entry() calls */

static void made_split(const char *words, struct strv *out)
{
    while (words && *words) {
        size_t n = strcspn(words, " ");
        auto_free char *word = mem_dup_n(words, n);

        strv_add(out, word);
        words += n + (words[n] == ' ');
    }
}

static int made_list(const char *dir, struct strv *names)
{
    if (strcmp(dir, "/opt/ml/code") != 0)
        return -ENOENT;
    made_split(made_files, names);
    return 0;
}

static cJSON *made_tree(const char *text)
{
    struct err err = ERR_INIT;
    cJSON *tree = json_parse(text, strlen(text), &err);

    assert_non_null(tree);
    return tree;
}

static void made_set(struct settings *settings, const char *words)
{
    auto_strv struct strv list = {0};

    made_split(words, &list);
    settings_init(settings);
    for (size_t i = 0; i < list.n; i++) {
        char *equals = strchr(list.v[i], '=');

        *equals = '\0';
        assert_int_equal(settings_set(settings, list.v[i], equals + 1, NULL), 0);
    }
}

static struct made made_new(const struct given *g)
{
    struct made m = {0};
    const char *program = g->program ? g->program : "train.py";
    auto_strv struct strv container = {0};
    struct tree tree = {.base = mem_dup("/opt/ml"),
                        .hyperparameters = made_tree(g->hyper ? g->hyper : "{}"),
                        .resourceconfig = made_tree(g->resources ? g->resources : ONE_HOST)};
    struct facts facts = {.num_cpus = g->cpus ? g->cpus : 4,
                          .num_gpus = g->gpus,
                          .num_neurons = g->neurons,
                          .torch_version = mem_dup(g->torch_version),
                          .python = mem_dup(g->python ? g->python : "/usr/bin/python3"),
                          .python_fault = g->python_fault,
                          .own_name_resolves = !g->unresolved};

    if (g->host_ranks) {
        facts.host_ranks = mem_zero(2 * sizeof(*facts.host_ranks));
        memcpy(facts.host_ranks, g->host_ranks, 2 * sizeof(*facts.host_ranks));
    }
    if (!*facts.python)
        free(TAKE(facts.python));
    strv_add(&container, "PATH=/bin");
    made_split(g->variables, &container);
    strv_addf(&container, "SAGEMAKER_PROGRAM=%s", program);
    made_files = g->files ? g->files : program;
    made_set(&m.settings, g->set);
    m.job = job_new(&tree, &container, &facts, g->as_host, &m.findings);
    job_find_entry(m.job, made_list, &m.findings);
    m.plan = launcher_plan(m.job, &m.settings, &m.findings);
    tree_done(&tree);
    return m;
}

static void made_done(struct made *m)
{
    plan_free(m->plan);
    job_free(m->job);
    settings_done(&m->settings);
    findings_done(&m->findings);
}

#define auto_made __attribute__((cleanup(made_done)))

/* The words of argv with one blank between. */
__attribute__((unused)) static void made_argv(const struct strv *argv, const char *expected)
{
    auto_free char *found = strv_join(argv, " ");

    assert_string_equal(found, expected);
}

/* All that this version cannot run, "" if there is nothing. To free(). */
__attribute__((unused)) static char *made_not_yet(const struct made *m)
{
    return strv_join(&m->plan->not_yet, "; ");
}

/* The first fatal finding, "" if there is none. */
__attribute__((unused)) static const char *made_error(const struct made *m)
{
    const struct finding *fatal = findings_first_fatal(&m->findings);

    return fatal ? fatal->text : "";
}

__attribute__((unused)) static bool made_warns(const struct made *m, const char *part)
{
    for (size_t i = 0; i < m->findings.n; i++)
        if (!m->findings.v[i].fatal && strstr(m->findings.v[i].text, part))
            return true;
    return false;
}
#endif
