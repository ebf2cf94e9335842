/* SPDX-License-Identifier: Apache-2.0
 *
 * jobs - one job (and its environment) out of a few texts, for the tests of core. A test fills
 * `given` and calls job_make(); everything is let go after each test. */
#ifndef TESTS_JOBS_H
#define TESTS_JOBS_H
#include "base/cleanup.h"
#include "base/mem.h"
#include "core/env.h"
#include "core/job.h"
#include "core/plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ONE_HOST "{\"current_host\": \"algo-1\", \"hosts\": [\"algo-1\"]}"

struct folder {
    const char *path;
    const char *names; /* with blanks between; NULL: may not be read */
};

static struct given {
    const char *hyper;     /* hyperparameters.json; "{}" */
    const char *resources; /* resourceconfig.json; ONE_HOST */
    const char *channels;  /* inputdataconfig.json; "{}" */
    const char *as_host;
    struct strv container;
    struct facts facts;
    struct folder folders[4];
} given;

static struct made {
    struct findings findings;
    struct job *job;
    struct plan *plan;
} made;

static cJSON *job_tree(const char *text, const char *standard)
{
    struct err err = ERR_INIT;
    cJSON *tree =
        json_parse_file_text(text ? text : standard, strlen(text ? text : standard), &err);

    assert_string_equal(err.text, "");
    return tree;
}

static int job_list(const char *dir, struct strv *names)
{
    for (size_t i = 0; i < LENGTH(given.folders) && given.folders[i].path; i++) {
        const char *word = given.folders[i].names;

        if (strcmp(given.folders[i].path, dir) != 0)
            continue;
        if (!word)
            return -EACCES;
        for (size_t n; *word; word += n + (word[n] == ' ')) {
            n = strcspn(word, " ");
            strv_addf(names, "%.*s", (int)n, word);
        }
        return 0;
    }
    return -ENOENT;
}

static void job_make(void)
{
    struct tree tree = {.base = mem_dup("/opt/ml"),
                        .hyperparameters = job_tree(given.hyper, "{}"),
                        .resourceconfig = job_tree(given.resources, ONE_HOST),
                        .inputdataconfig = job_tree(given.channels, "{}")};

    made.job = job_new(&tree, &given.container, &given.facts, given.as_host, &made.findings);
    job_find_entry(made.job, job_list, &made.findings);
    made.plan = plan_new();
    env_build(made.job, made.plan, &made.findings);
    tree_done(&tree);
}

static int job_begin(void **state)
{
    (void)state;
    given = (struct given){
        .facts = {.num_cpus = 4, .own_name_resolves = true},
        .folders = {{"/opt/ml/code", "train.py"}            }
    };
    strv_add(&given.container, "PATH=/bin");
    strv_add(&given.container, "SAGEMAKER_PROGRAM=train.py");
    made = (struct made){0};
    return 0;
}

static int job_end(void **state)
{
    (void)state;
    plan_free(made.plan);
    job_free(made.job);
    findings_done(&made.findings);
    strv_done(&given.container);
    facts_done(&given.facts);
    return 0;
}

/* For a test that makes several jobs. */
__attribute__((unused)) static void job_again(void)
{
    (void)job_end(NULL);
    (void)job_begin(NULL);
}

/* The first fatal finding, "" if the job can run. */
__attribute__((unused)) static const char *job_error(void)
{
    const struct finding *fatal = findings_first_fatal(&made.findings);

    return fatal ? fatal->text : "";
}

/* How many warnings have `part` in them. */
__attribute__((unused)) static int job_warnings(const char *part)
{
    int n = 0;

    for (size_t i = 0; i < made.findings.n; i++)
        n += !made.findings.v[i].fatal && strstr(made.findings.v[i].text, part);
    return n;
}

/* A variable of the environment, "(not set)" where there is none. */
__attribute__((unused)) static const char *job_env(const char *name)
{
    const char *value = strv_env(&made.plan->environment, name);

    return value ? value : "(not set)";
}

#define job_test(name) cmocka_unit_test_setup_teardown(name, job_begin, job_end)
#endif
