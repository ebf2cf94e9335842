/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "launchers/launcher.h"

static const struct launcher_ops launcher_mpi = {"mpi", launcher_per_host, NULL};
static const struct launcher_ops launcher_smddp = {"smddp", launcher_per_host, NULL};
static const struct launcher_ops launcher_xla = {"xla", launcher_one, NULL};
static const struct launcher_ops launcher_servers = {"tf-parameter-server", launcher_one, NULL};
static const struct launcher_ops launcher_mirrored = {"tf-mirrored", launcher_one, NULL};

static const struct launcher_ops *const launchers[] = {
    &launcher_plain, &launcher_torch,   &launcher_mpi,      &launcher_smddp,
    &launcher_xla,   &launcher_servers, &launcher_mirrored,
};

/* Whose request wins, layer by layer (section 12; an image of the user's own: PyTorch's order, then
 * TensorFlow's). */
static const struct request {
    enum want want;
    const struct launcher_ops *ops; /* NULL: end of the list */
    size_t least_hosts;
} requests[][WANT_COUNT + 1] = {
    [LAYER_OWN] = {{WANT_MPI, &launcher_mpi, 1},
                   {WANT_PYTORCH_DDP, &launcher_smddp, 1},
                   {WANT_TORCH, &launcher_torch, 1},
                   {WANT_DATAPARALLEL, &launcher_smddp, 1},
                   {WANT_XLA, &launcher_xla, 1},
                   {WANT_PARAMETER_SERVER, &launcher_servers, 2},
                   {WANT_MIRRORED, &launcher_mirrored, 1}},
    [LAYER_BASE] = {{WANT_MPI, &launcher_mpi, 1}},
    [LAYER_PYTORCH] = {{WANT_MPI, &launcher_mpi, 1},
                   {WANT_PYTORCH_DDP, &launcher_smddp, 1},
                   {WANT_TORCH, &launcher_torch, 1},
                   {WANT_DATAPARALLEL, &launcher_smddp, 1},
                   {WANT_XLA, &launcher_xla, 1}},
    [LAYER_TENSORFLOW] = {{WANT_PARAMETER_SERVER, &launcher_servers, 2},
                   {WANT_MPI, &launcher_mpi, 1},
                   {WANT_DATAPARALLEL, &launcher_smddp, 1},
                   {WANT_MIRRORED, &launcher_mirrored, 1}                              },
};

static const char *const layer_names[] = {
    [LAYER_OWN] = "an image of your own",
    [LAYER_BASE] = "the base layer",
    [LAYER_PYTORCH] = "the PyTorch layer",
    [LAYER_TENSORFLOW] = "the TensorFlow layer",
};

static const struct launcher_ops *by_name(const char *name)
{
    for (size_t i = 0; i < LENGTH(launchers); i++)
        if (strcmp(launchers[i]->name, name) == 0)
            return launchers[i];
    return NULL;
}

static const struct request *first_request(const struct job *job)
{
    for (const struct request *r = requests[job->layer]; r->ops; r++)
        if (job->want[r->want] && job->dist_hosts.n >= r->least_hosts)
            return r;
    return NULL;
}

/* One warning that names all that was asked for in vain, and why. */
static void warn_losers(const struct job *job, const struct request *winner,
                        struct findings *findings)
{
    auto_strv struct strv losers = {0};
    auto_buf struct buf order = {0};
    auto_free char *names = NULL;

    for (int i = 0; i < WANT_COUNT; i++)
        if (job->want[i] && !(winner && winner->want == (enum want)i))
            strv_add(&losers, want_keys[i]);
    if (!losers.n)
        return;
    names = strv_join(&losers, ", ");
    for (const struct request *r = requests[job->layer]; r->ops; r++)
        buf_printf(&order, "%s%s%s", order.len ? ", " : "", want_keys[r->want],
                   r->least_hosts > 1 ? " (on more than one host)" : "");
    findings_warn(findings, "%s: no effect, %s wins: the order of %s is %s", names,
                  winner ? want_keys[winner->want] : "the plain process", layer_names[job->layer],
                  buf_text(&order));
}

static const struct launcher_ops *asked_for(const struct job *job, const struct settings *settings,
                                            struct findings *findings)
{
    const struct launcher_ops *set = by_name(settings->launcher);
    const struct request *winner;

    if (set)
        return set;
    winner = first_request(job);
    if (!findings_first_fatal(findings)) /* of a job that is whole */
        warn_losers(job, winner, findings);
    return winner ? winner->ops : &launcher_plain;
}

const struct launcher_ops *launcher_choose(const struct job *job, const struct settings *settings,
                                           struct findings *findings)
{
    const struct launcher_ops *ops;

    if (launcher_outside(job))
        return &launcher_plain;
    ops = asked_for(job, settings, findings);
    if (!ops->plan)
        findings_fatal(findings, BLAME_SELF,
                       "the job asks for launcher %s, which is not part of this version",
                       ops->name);
    return ops;
}
