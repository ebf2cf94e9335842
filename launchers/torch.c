/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "core/env.h"
#include "launchers/launcher.h"

/* torchrun renamed the variable in PyTorch 2.2; before that, the library knows the old name only.
 */
static const char *async_errors_name(const struct job *job)
{
    static const char *const before[] = {"0.", "1.", "2.0", "2.1."};
    const char *version = job->facts.torch_version;

    for (size_t i = 0; version && i < LENGTH(before); i++)
        if (strncmp(version, before[i], strlen(before[i])) == 0)
            return "NCCL_ASYNC_ERROR_HANDLING";
    return "TORCH_NCCL_ASYNC_ERROR_HANDLING";
}

/* torchrun gives every rank of several one thread; all CPUs shared out serve better. */
static void fill_threads(const struct job *job, struct plan *plan, unsigned local_world)
{
    unsigned each = local_world > 1 ? job->facts.num_cpus / local_world : 0;
    auto_free char *threads = mem_printf("%u", each ? each : 1);

    if (local_world > 1)
        env_fill(job, plan, "OMP_NUM_THREADS", threads);
}

static bool torchrun_can_run(const struct job *job, struct findings *findings)
{
    static const char *const refused[] = {
        [ENTRY_PACKAGE] = "packages",
        [ENTRY_COMMAND] = "commands",
        [ENTRY_MODULE] = NULL,
    };
    const char *kind = job->entry == ENTRY_SCRIPT ? NULL : refused[job->entry];

    if (kind)
        findings_fatal(findings, BLAME_USER,
                       "torch.launcher = exec: torchrun is not given %s, and %s is one; name a "
                       "Python script, or use torch.launcher = native",
                       kind, job->program);
    return !kind;
}

static void add_option(struct strv *argv, const char *name, unsigned value)
{
    strv_add(argv, name);
    strv_addf(argv, "%u", value);
}

/* The real torchrun, for those who need its elastic agents (section 12.4). */
static void plan_exec(const struct job *job, const struct settings *settings, struct plan *plan,
                      struct findings *findings)
{
    const struct plan_host *self = launcher_self(plan);
    const char *compile = strv_env(&job->container, "RUN_NEURON_PARALLEL_COMPILE");
    struct strv *argv = &plan->launch.argv;

    if (!torchrun_can_run(job, findings) || !self)
        return;
    plan->has_launch = true;
    plan->launch.cwd = mem_dup(job->code_dir);
    if (compile && strcmp(compile, "1") == 0)
        strv_add(argv, "neuron_parallel_compile");
    strv_add(argv, "torchrun");
    add_option(argv, "--nnodes", (unsigned)plan->n_hosts);
    add_option(argv, "--nproc_per_node", self->ranks);
    if (plan->n_hosts > 1) {
        strv_add(argv, "--master_addr");
        strv_add(argv, plan->leader);
        add_option(argv, "--master_port", launcher_port(job, settings));
        add_option(argv, "--node_rank", (unsigned)(self - plan->hosts));
    }
    if (job->entry == ENTRY_MODULE) {
        strv_add(argv, "-m");
        strv_add(argv, job->entry_module);
    } else {
        entrycmd_script(job, argv);
    }
    strv_add_all(argv, &plan->user_args);
}

/* Where a program leaves what it died of, for the report. */
static void add_error_file(const struct job *job, struct plan_rank *rank)
{
    auto_free char *below =
        mem_printf("output/data/serried/%s/errors/%u.json", job->host, rank->rank);
    auto_free char *path = job_path(job, below);

    strv_addf(&rank->env, "TORCHELASTIC_ERROR_FILE=%s", path);
}

static void plan_torch(const struct job *job, const struct settings *settings, struct plan *plan,
                       struct findings *findings)
{
    const struct plan_host *self = launcher_self(plan);

    if (strcmp(settings->torch_launcher, "exec") == 0) {
        plan_exec(job, settings, plan, findings);
        return;
    }
    fill_threads(job, plan, self ? self->ranks : 1);
    env_fill(job, plan, async_errors_name(job), "1");
    launcher_add_ranks(job, settings, plan);
    for (size_t i = 0; i < plan->n_ranks; i++)
        add_error_file(job, &plan->ranks[i]);
}

const struct launcher_ops launcher_torch = {"torch", launcher_per_host, plan_torch};
