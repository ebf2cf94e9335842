/* SPDX-License-Identifier: Apache-2.0
 *
 * launcher - which way a job's ranks are started: the table, the choice, and the plan.
 *
 * A new launcher is one file and one row. Pure: a job goes in, a plan comes out.
 * Source: docs/contract.md, sections 6 and 12. */
#ifndef LAUNCHERS_LAUNCHER_H
#define LAUNCHERS_LAUNCHER_H
#include "core/findings.h"
#include "core/job.h"
#include "core/plan.h"
#include "core/settings.h"

#define LAUNCHER_PER_HOST_MAX 4096 /* ranks of one host */

struct launcher_ops {
    const char *name; /* as `serry plan` and the log print it */
    /* Ranks of each host. */
    unsigned (*per_host)(const struct job *job, const struct settings *settings,
                         struct findings *findings);
    /* Adds ranks (or the launch) to a plan that has all else: environment, arguments, steps, hosts.
     * NULL: this launcher is not built into this version. */
    void (*plan)(const struct job *job, const struct settings *settings, struct plan *plan,
                 struct findings *findings);
};
extern const struct launcher_ops launcher_plain, launcher_torch;

/* The launcher that this job asks for on this host, by the contract's order for its layer; losing
 * requests are warned about. A request for one that is not built is a fatal finding. Never NULL. */
const struct launcher_ops *launcher_choose(const struct job *job, const struct settings *settings,
                                           struct findings *findings);
/* The whole plan; never NULL. It can run if `findings` has no fatal one and
 * plan->not_yet is empty. */
struct plan *launcher_plan(const struct job *job, const struct settings *settings,
                           struct findings *findings);

/* Processes on this host: as asked, else GPUs, else Neuron cores, else 1 (section 12). More than
 * there are GPUs is a fatal finding (S-19) unless rank.oversubscribe. */
unsigned launcher_per_host(const struct job *job, const struct settings *settings,
                           struct findings *findings);
/* Is this host left out of a distribution that others form? */
bool launcher_outside(const struct job *job);
/* Always 1: for launchers that start one process on each host. */
unsigned launcher_one(const struct job *job, const struct settings *settings,
                      struct findings *findings);
/* The port of rank 0: the one agreed by the hosts, else the setting's. */
unsigned launcher_port(const struct job *job, const struct settings *settings);
/* This host among plan->hosts; NULL where a faulty configuration does not list it. */
const struct plan_host *launcher_self(const struct plan *plan);
/* Adds this host's ranks with the program's argv and, but for hosts outside the distribution, the
 * rank variables. */
void launcher_add_ranks(const struct job *job, const struct settings *settings, struct plan *plan);
/* RANK LOCAL_RANK WORLD_SIZE LOCAL_WORLD_SIZE GROUP_RANK MASTER_ADDR MASTER_PORT and kin; of the
 * torch launcher also what only torchrun sets. */
void launcher_rank_env(const struct job *job, const struct settings *settings,
                       const struct plan *plan, struct plan_rank *rank);
/* entrycmd: the program and its arguments as argv, never a joined string. */
void entrycmd(const struct job *job, const struct plan *plan, struct strv *argv);
/* entrycmd: the step that installs requirements, if there is one (section 10). */
void entrycmd_install(const struct job *job, const struct settings *settings, struct plan *plan);
/* entrycmd: adds the script's name, in a form that no program takes for an option. */
void entrycmd_script(const struct job *job, struct strv *argv);
#endif
