/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "run/begin.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/files.h"
#include "base/log.h"
#include "base/mem.h"
#include "input/inputs.h"
#include "launchers/launcher.h"
#include "run/network.h"
#include "run/peers.h"

#define RESOLVE_LIMIT_MS 1000 /* for the host's own name; 127.0.0.1 serves as well */

/* ---- the plan ------------------------------------------------------------------------------ */

/* A job of one host needs no name to resolve; run/peers sees to those of several. */
static void ask_for_own_name(struct inputs *in, uv_loop_t *loop)
{
    const char *own = json_string(json_get(in->tree.resourceconfig, "current_host"));

    if (own && !findings_first_fatal(&in->findings))
        in->facts.own_name_resolves = network_resolves(loop, own, RESOLVE_LIMIT_MS);
}

/* A free port for rank 0, where that runs on this host. Before the plan, which has it in many
 * places, it is not known who leads: then the plan is made again when the hosts have met. */
static void choose_port(struct inputs *in)
{
    struct facts *facts = in->job ? &in->job->facts : &in->facts;

    if (findings_first_fatal(&in->findings))
        return;
    facts->master_port = network_choose_port((unsigned)in->settings.master_port);
    if (!facts->master_port)
        findings_fatal(&in->findings, BLAME_PLATFORM, "no TCP port can be had for MASTER_PORT");
}

/* The job's own level (10 debug, 20 information, 30 warning, 40 error) unless log.level is set. */
static enum log_level level_wanted(const struct inputs *in)
{
    static const char *const names[] = {"debug", "info", "warning", "error"};
    int number = job_log_level(in->job);

    for (size_t i = 0; i < LENGTH(names); i++)
        if (strcmp(in->settings.log_level, names[i]) == 0)
            return (enum log_level)i;
    return number <= 10   ? LOG_DEBUG
           : number <= 20 ? LOG_INFO
           : number <= 30 ? LOG_WARNING
                          : LOG_ERROR;
}

/* What this version cannot run yet is refused, not half done. */
static void check_not_yet(struct inputs *in)
{
    if (in->plan->not_yet.n)
        findings_fatal(&in->findings, BLAME_SELF, "%s", in->plan->not_yet.v[0]);
}

void begin_plan(const struct inputs_options *options, struct inputs *in, uv_loop_t *loop)
{
    bool alone = cJSON_GetArraySize(json_get(in->tree.resourceconfig, "hosts")) == 1;

    if (alone) {
        ask_for_own_name(in, loop);
        choose_port(in);
    }
    inputs_plan(options, in);
    if (!alone && in->job->is_leader)
        choose_port(in);
    log_set_level(level_wanted(in));
    check_not_yet(in);
}

/* ---- the first lines ----------------------------------------------------------------------- */

/* `serry check` shows the rest. */
void begin_say_warnings(const struct inputs *in)
{
    for (size_t i = 0; i < in->findings.n; i++) {
        auto_free char *text = redact_text(in->redact, in->findings.v[i].text);

        if (!in->findings.v[i].fatal)
            log_warning("%s", text);
    }
}

/* One line of what was filled in and what was left because it was set (field case 09). */
static void say_tuning(const struct plan *plan)
{
    auto_free char *filled = strv_join(&plan->filled, " ");
    auto_free char *left = strv_join(&plan->left_alone, " ");

    if (plan->filled.n || plan->left_alone.n)
        log_info("variables filled in: %s; left as they were set: %s", *filled ? filled : "none",
                 *left ? left : "none");
}

static void say_port(const struct inputs *in)
{
    if (in->job->facts.master_port != in->settings.master_port)
        log_info("port %ld is taken: MASTER_PORT is %u", in->settings.master_port,
                 in->job->facts.master_port);
}

void begin_say_start(const struct inputs *in)
{
    const struct plan *plan = in->plan;
    const struct job *job = in->job;

    log_info("serried %s: job %s, host %s, launcher %s, %u %s", PACKAGE_VERSION,
             job->training_job ? job->training_job : "without a name", plan->host, plan->launcher,
             plan->world, plan->world == 1 ? "rank" : "ranks");
    say_tuning(plan);
    if (!job->facts.own_name_resolves)
        log_info("host name %s does not resolve: MASTER_ADDR is 127.0.0.1", job->host);
    if (job->hosts.n == 1)
        say_port(in);
}

static void say_agreed(const struct inputs *in)
{
    if (in->plan->role == ROLE_OUTSIDE)
        return;
    if (in->plan->world != in->before->world)
        log_info("%u ranks on %zu hosts, as many as each host has", in->plan->world,
                 in->plan->n_hosts);
    say_port(in);
}

/* The number of a host at `which` (0: ranks, 1: port) in what the leader sent; 0: none. */
static unsigned agreed(const cJSON *list, const struct strv *hosts, const char *name, int which)
{
    long number = 0;

    for (size_t i = 0; i < hosts->n; i++)
        if (strcmp(hosts->v[i], name) == 0)
            (void)json_integer(cJSON_GetArrayItem(list, 2 * (int)i + which), 0, 65535, &number);
    return (unsigned)number;
}

void begin_agree(struct inputs *in, const struct peers_news *start)
{
    const cJSON *list = start->message.body;
    const struct plan *plan = in->plan;
    unsigned *ranks = mem_zero((plan->n_hosts + 1) * sizeof(*ranks));
    auto_strv struct strv hosts = {0};
    unsigned port;

    job_sorted_hosts(in->job, &hosts);
    for (size_t i = 0; i < plan->n_hosts; i++) {
        ranks[i] = agreed(list, &hosts, plan->hosts[i].name, 0);
        if (!ranks[i] || ranks[i] > LAUNCHER_PER_HOST_MAX)
            ranks[i] = plan->hosts[i].ranks;
    }
    port = agreed(list, &hosts, plan->leader, 1);
    inputs_agree(in, port ? port : (unsigned)in->settings.master_port, ranks, start->interface);
    say_agreed(in);
}

/* ---- files --------------------------------------------------------------------------------- */

static int write_file(const struct plan_file *file)
{
    auto_free char *folder = path_parent(file->path);
    int rc = folder_make(folder);

    return rc ? rc : file_write_private(file->path, file->text, strlen(file->text));
}

/* A command needs its x bits; nothing else of its mode changes (W20). */
static void make_executable(const char *path)
{
    struct stat st;

    if (!path || stat(path, &st) < 0 || (st.st_mode & S_IXUSR))
        return;
    if (chmod(path, (st.st_mode & 07777) | S_IXUSR | S_IXGRP | S_IXOTH) < 0)
        log_warning("%s: cannot be made executable (%s)", path, strerror(errno));
}

void begin_make_files(const struct plan *plan)
{
    for (size_t i = 0; i < plan->n_files; i++) {
        int rc = write_file(&plan->files[i]);

        if (rc)
            log_warning("%s: cannot be written (%s)", plan->files[i].path, strerror(-rc));
    }
    make_executable(plan->executable);
}

/* They hold hyperparameters: the platform packs the folder they are in. */
void begin_remove_files(const struct plan *plan)
{
    for (size_t i = 0; i < plan->n_files; i++) {
        auto_free char *folder = path_parent(plan->files[i].path);

        (void)unlink(plan->files[i].path);
        (void)rmdir(folder);
    }
}
