/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "ctl/emulate.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/files.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/num.h"
#include "ctl/verbs.h"
#include "emulator/control.h"
#include "emulator/emulation.h"
#include "emulator/state.h"
#include "input/options.h"

#define FAULTS_MAX  256
#define HOSTS_SHOWN 16

/* One emulation, from the options to its end. */
struct emulate {
    const struct emulate_options *o;
    struct emulate_job job;
    struct tree_hosts hosts;
    struct state state;
    char *daemon;
    char *hidden;
    unsigned gpus[RACK_HOSTS_MAX];
    struct fault faults[FAULTS_MAX];
    struct emulation_end end;
};

static void tell(const char *text)
{
    (void)fprintf(stderr, "serry: %s\n", text);
}

static int failed(const struct err *err)
{
    if (err->blame == BLAME_USER)
        return ctl_usage("emulate", err->text);
    tell(err->text);
    return err_status(err->blame);
}

static char *find_daemon(struct err *err)
{
    const char *given = getenv("SERRY_SERRIED");
    char own[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", own, sizeof(own) - 1);
    auto_free char *folder = NULL;
    auto_free char *found = NULL;
    char *whole;

    own[n > 0 ? n : 0] = '\0';
    folder = path_parent(own);
    found = path_join(folder, "serried");
    if (given && *given) {
        free(found);
        found = mem_dup(given);
    } else if (access(found, X_OK) < 0) {
        free(found);
        found = path_which("serried", getenv("PATH"));
    }
    whole = found && !access(found, X_OK) ? realpath(found, NULL) : NULL;
    if (!whole)
        (void)err_set(err, BLAME_PLATFORM, -ENOENT, "%s is not there, nor on PATH",
                      given && *given ? given : "serried beside serry");
    return whole;
}

static int read_faults(struct emulate *e, struct err *err)
{
    size_t never = 0;

    if (e->o->faults.n > FAULTS_MAX)
        return err_set(err, BLAME_USER, -E2BIG, "--fault: at most %d", FAULTS_MAX);
    for (size_t i = 0; i < e->o->faults.n; i++) {
        if (fault_parse(e->o->faults.v[i], &e->hosts.names, &e->faults[i], err))
            return err_wrap(err, "--fault");
        never += e->faults[i].kind == FAULT_NO_START;
    }
    return never < e->hosts.names.n
               ? 0
               : err_set(err, BLAME_USER, -EINVAL, "--fault: no host would ever start");
}

static int find_hosts(struct emulate *e, struct err *err)
{
    long hosts;

    if (!e->o->tree) {
        tree_plan(&e->job.tree, &e->hosts);
        return 0;
    }
    if (tree_find(e->o->tree, &e->hosts, err))
        return err->code;
    if (e->hosts.names.n > RACK_HOSTS_MAX)
        return err_set(err, BLAME_CONFIG, -E2BIG, "--tree: %zu hosts, at most %d", e->hosts.names.n,
                       RACK_HOSTS_MAX);
    if (e->o->hosts &&
        (!num_integer(e->o->hosts, 1, RACK_HOSTS_MAX, &hosts) || (size_t)hosts != e->hosts.names.n))
        return err_set(err, BLAME_USER, -EINVAL, "--hosts %.20s: --tree has %zu", e->o->hosts,
                       e->hosts.names.n);
    return 0;
}

/* Only now is it known what the network interface is. */
static int configure(void *data, enum rack_mode mode, struct err *err)
{
    const struct emulate *e = data;

    return tree_configure(&e->job.tree, &e->hosts, mode == RACK_LOOSE ? "lo" : "eth0", err);
}

static int run(struct emulate *e, struct err *err)
{
    const struct emulate_options *o = e->o;
    struct emulation_spec spec = {
        .hosts = &e->hosts,
        .mode = e->job.mode,
        .ipv6 = o->ipv6,
        .sets = &o->sets,
        .env = &e->job.env,
        .gpus = e->gpus,
        .faults = e->faults,
        .n_faults = o->faults.n,
        .logs = {o->json ? STDERR_FILENO : STDOUT_FILENO, STDERR_FILENO},
        .configure = o->tree ? NULL : configure,
        .data = e
    };

    if (emulate_job_read(o, &e->job, err))
        return err->code;
    spec.mode = e->job.mode;
    e->daemon = find_daemon(err);
    if (!e->daemon || state_open(&e->state, o->state, o->keep && !o->tree, err))
        return err->code;
    e->job.tree.folder = e->state.path;
    if (find_hosts(e, err) || read_faults(e, err) ||
        emulate_gpus(o->gpus ? o->gpus : "0", e->hosts.names.n, e->gpus, err) ||
        (!o->tree && tree_make(&e->job.tree, &e->hosts, err)))
        return err->code;
    spec.state = e->state.path;
    e->hidden = o->tree ? path_parent(e->hosts.bases.v[0]) : mem_dup(e->state.path);
    spec.hide = e->hidden; /* a host does not see what is another's */
    spec.daemon = e->daemon;
    return emulation_run(&spec, &e->end, err);
}

static void add_fate(struct buf *out, const char *name, const struct emulation_host *host)
{
    buf_printf(out, "%s%s ", out->len ? ", " : "", name);
    if (host->fate == EMULATION_NEVER)
        buf_str(out, "was not started");
    else if (WIFSIGNALED(host->status))
        buf_printf(out, "was ended by signal %d", WTERMSIG(host->status));
    else
        buf_printf(out, "ended with status %d", WEXITSTATUS(host->status));
}

static void tell_fates(const struct emulate *e)
{
    auto_buf struct buf text = {0};
    size_t n = e->hosts.names.n;

    for (size_t i = 0; i < n && i < HOSTS_SHOWN; i++)
        add_fate(&text, e->hosts.names.v[i], &e->end.hosts[i]);
    if (n > HOSTS_SHOWN)
        buf_printf(&text, " and %zu more", n - HOSTS_SHOWN);
    tell(buf_text(&text));
}

static cJSON *host_json(const struct emulate *e, size_t i)
{
    const struct emulation_host *host = &e->end.hosts[i];
    bool ended = host->fate != EMULATION_NEVER;
    bool killed = ended && WIFSIGNALED(host->status);
    cJSON *object = mem_check(cJSON_CreateObject());

    json_add_string(object, "name", e->hosts.names.v[i]);
    json_add(object, "status",
             ended && !killed ? json_new_integer(WEXITSTATUS(host->status)) : NULL);
    json_add(object, "signal", killed ? json_new_integer(WTERMSIG(host->status)) : NULL);
    json_add_string(object, "base", e->o->keep || e->o->tree ? e->hosts.bases.v[i] : NULL);
    return object;
}

static int print_json(const struct emulate *e)
{
    auto_json cJSON *object = mem_check(cJSON_CreateObject());
    cJSON *list = mem_check(cJSON_CreateArray());
    auto_buf struct buf out = {0};

    for (size_t i = 0; i < e->hosts.names.n; i++)
        cJSON_AddItemToArray(list, host_json(e, i));
    json_add(object, "hosts", list);
    json_add(object, "status", json_new_integer(e->end.status));
    json_add_string(object, "isolation", e->end.isolation);
    ctl_add_json(&out, object);
    return ctl_print(&out);
}

static int say_end(const struct emulate *e)
{
    if (e->end.differs)
        tell_fates(e);
    if (e->o->keep) {
        auto_free char *bases = strv_join(&e->hosts.bases, ", ");
        auto_free char *text = mem_printf("kept: %s", bases);

        tell(text);
    }
    if (e->o->json && print_json(e))
        return err_status(BLAME_PLATFORM);
    return e->end.status;
}

static int emulate(const struct emulate_options *o)
{
    auto_free struct emulate *e = mem_zero(sizeof(*e));
    auto_free char *folder = NULL;
    struct err err = ERR_INIT;
    int status, rc;

    e->o = o;
    e->state.lock = -1;
    rc = run(e, &err);
    status = rc ? failed(&err) : say_end(e);
    folder = mem_dup(e->state.path);
    e->state.keep = e->state.keep && !rc;
    rc = state_close(&e->state);
    if (rc) {
        auto_free char *text = mem_printf("%s cannot be removed whole: %s", folder, strerror(-rc));

        tell(text);
    }
    emulation_end_done(&e->end);
    emulate_job_done(&e->job);
    tree_hosts_done(&e->hosts);
    free(e->daemon);
    free(e->hidden);
    return status;
}

static int told(int status, const struct err *err)
{
    if (err->code)
        tell(err->text);
    return status;
}

/* exec COMMAND ..., or fault SPEC, in an emulation that runs. */
static int control(const struct emulate_options *o, const struct strv *words)
{
    struct err err = ERR_INIT;

    if (!strcmp(words->v[0], "exec")) {
        if (!o->host || words->n < 2)
            return ctl_usage("emulate", "expected --host HOST exec COMMAND");
        return told(control_exec(o->state, o->host, words->v + 1, &err), &err);
    }
    if (!strcmp(words->v[0], "fault")) {
        if (words->n != 2)
            return ctl_usage("emulate", "expected fault SPEC");
        return told(control_fault(o->state, words->v[1], &err), &err);
    }
    (void)err_set(&err, BLAME_USER, -EINVAL, "expected options, exec or fault, found %.100s",
                  words->v[0]);
    return failed(&err);
}

int ctl_emulate(int argc, char **argv)
{
    struct emulate_options o = {0};
    struct err err = ERR_INIT;
    auto_strv struct strv words = {0};
    int status;

    if (emulate_options_read(argc, argv, &o, &words, &err)) {
        status = failed(&err);
    } else if (o.help) {
        auto_buf struct buf out = {0};

        ctl_emulate_help(&out);
        status = ctl_print(&out);
    } else if (words.n) {
        status = control(&o, &words);
    } else if (o.host) {
        status = ctl_usage("emulate", "--host is for exec");
    } else {
        status = emulate(&o);
    }
    emulate_options_done(&o);
    return status;
}
