/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "base/cleanup.h"
#include "launchers/launcher.h"

#define REQUIREMENTS "requirements.txt"

/* The plan stays readable where no Python was found; that is a fatal finding of its own. */
static const char *python_of(const struct job *job)
{
    return job->facts.python ? job->facts.python : "python3";
}

static void add_module(const struct job *job, struct strv *argv)
{
    strv_add(argv, python_of(job));
    strv_add(argv, "-m");
    strv_add(argv, job->entry_module);
}

static void add_script(const struct job *job, struct strv *argv)
{
    strv_add(argv, python_of(job));
    entrycmd_script(job, argv);
}

void entrycmd_script(const struct job *job, struct strv *argv)
{
    strv_addf(argv, "%s%s", job->program[0] == '-' ? "./" : "", job->program);
}

static void add_command(const struct job *job, struct strv *argv)
{
    strv_addf(argv, "%s%s", job->program[0] == '/' ? "" : "./", job->program);
}

void entrycmd(const struct job *job, const struct plan *plan, struct strv *argv)
{
    static void (*const forms[])(const struct job *job, struct strv *argv) = {
        [ENTRY_SCRIPT] = add_script,
        [ENTRY_PACKAGE] = add_module,
        [ENTRY_MODULE] = add_module,
        [ENTRY_COMMAND] = add_command,
    };

    forms[job->entry](job, argv);
    strv_add_all(argv, &plan->user_args);
}

void entrycmd_install(const struct job *job, const struct settings *settings, struct plan *plan)
{
    bool package = job->entry == ENTRY_PACKAGE;
    bool requirements = strv_has(&job->code_files, REQUIREMENTS);
    struct plan_step *step;

    if (job->entry == ENTRY_NONE || job->entry == ENTRY_COMMAND || (!package && !requirements))
        return;
    if (requirements && strv_env(&job->container, "CA_REPOSITORY_ARN"))
        strv_add(&plan->not_yet, "CA_REPOSITORY_ARN: installing " REQUIREMENTS
                                 " from CodeArtifact is not part of this version");
    step = plan_add_step(plan, "install", job->code_dir, (unsigned)settings->install_limit_s,
                         BLAME_USER);
    strv_add(&step->argv, python_of(job));
    strv_add(&step->argv, "-m");
    strv_add(&step->argv, "pip");
    strv_add(&step->argv, "install");
    if (package)
        strv_add(&step->argv, ".");
    if (requirements) {
        strv_add(&step->argv, "-r");
        strv_add(&step->argv, REQUIREMENTS);
    }
}
