/* SPDX-License-Identifier: Apache-2.0
 *
 * Hosts without isolation: plain processes of this machine, each with an address of its own in
 * 127.1.0.0/16, and with names.c preloaded. */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/files.h"
#include "base/mem.h"
#include "base/strv.h"
#include "emulator/rack_ops.h"
#include "emulator/watch.h"

#define LIBRARY "emulated-names.so"

struct loose;

/* One process of ours: a daemon, or a command by exec. */
struct child {
    uv_poll_t poll; /* its pidfd is readable at its end */
    struct loose *rack;
    struct child *next;
    pid_t pid;
    int pidfd;
    size_t host;
    unsigned id; /* of a command; 0: the host's daemon */
};

struct host {
    char *name, *base;
    struct strv env;
    struct watch watch;
    pid_t pid;  /* of the daemon; 0: none runs */
    bool known; /* its name */
};

struct loose {
    struct rack rack;
    uv_loop_t *loop;
    struct rack_calls calls;
    void *data;
    struct host *hosts;
    struct child *children;
    struct strv argv;
    char *hosts_file, *library;
    bool closing, told_roads;
    size_t handles;
};

static struct loose *loose_of(struct rack *r)
{
    return (struct loose *)(void *)r;
}

/* ---- the end ------------------------------------------------------------------------------- */

static void free_all(struct loose *l)
{
    for (size_t i = 0; i < l->rack.n; i++) {
        free(l->hosts[i].name);
        free(l->hosts[i].base);
        strv_done(&l->hosts[i].env);
    }
    strv_done(&l->argv);
    free(l->hosts);
    free(l->hosts_file);
    free(l->library);
    free(l);
}

static void on_handle_closed(void *rack)
{
    struct loose *l = rack;

    if (l->closing && !l->handles)
        free_all(l);
}

static void handle_gone(struct loose *l)
{
    l->handles--;
    on_handle_closed(l);
}

static void on_child_closed(uv_handle_t *handle)
{
    struct child *c = handle->data;
    struct loose *l = c->rack;

    free(c);
    handle_gone(l);
}

static bool reap(struct child *c)
{
    struct loose *l = c->rack;
    struct child **at = &l->children;
    int status = 0;

    if (waitpid(c->pid, &status, WNOHANG) != c->pid)
        return false;
    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    (void)uv_poll_stop(&c->poll);
    (void)close(c->pidfd);
    uv_close((uv_handle_t *)&c->poll, on_child_closed);
    if (c->id) {
        if (!l->closing)
            l->calls.on_exec_exit(l->data, c->id, status);
        return true;
    }
    l->hosts[c->host].pid = 0;
    watch_ended(&l->hosts[c->host].watch, status);
    return true;
}

static void on_end(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    (void)reap(poll->data);
}

/* ---- starting ------------------------------------------------------------------------------ */

/* In the child: nothing but system calls. */
_Noreturn static void become(char *const *argv, char *const *env, const char *cwd, const int fds[3],
                             pid_t parent)
{
    (void)setsid();
    (void)signal(SIGPIPE, SIG_DFL);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent || chdir(cwd) < 0)
        _exit(127);
    for (int i = 0; i < 3; i++)
        if (dup2(fds[i], i) < 0)
            _exit(127);
    (void)execvpe(argv[0], argv, env);
    _exit(127);
}

static pid_t spawn(struct loose *l, size_t host, char *const *argv, char *const *env,
                   const int fds[3], unsigned id)
{
    pid_t parent = getpid(), pid = fork();
    struct child *c;
    int pidfd, status;

    if (pid == 0)
        become(argv, env, l->hosts[host].base, fds, parent);
    if (pid < 0)
        return -errno;
    pidfd = pidfd_open(pid, 0);
    if (pidfd < 0) {
        (void)kill(pid, SIGKILL);
        (void)waitpid(pid, &status, 0);
        return -EMFILE;
    }
    c = mem_zero(sizeof(*c));
    c->rack = l;
    c->pid = pid;
    c->host = host;
    c->id = id;
    c->pidfd = pidfd;
    c->next = l->children;
    l->children = c;
    (void)uv_poll_init(l->loop, &c->poll, c->pidfd);
    c->poll.data = c;
    l->handles++;
    (void)uv_poll_start(&c->poll, UV_READABLE, on_end);
    return pid;
}

/* The host's own variables, and the preload in front of the user's. */
static void environment(const struct loose *l, size_t host, char *const *more, struct strv *out)
{
    const struct host *h = &l->hosts[host];
    const char *theirs = strv_env(&h->env, "LD_PRELOAD");
    auto_free char *preload =
        mem_printf("%s%s%s", l->library, theirs && *theirs ? ":" : "", theirs ? theirs : "");

    for (; more && *more; more++)
        strv_add(out, *more);
    if (!more || !out->n)
        strv_add_all(out, &h->env);
    strv_env_set(out, "LD_PRELOAD", preload);
    strv_env_set(out, "SERRY_EMULATED_NAME", h->name);
    strv_env_set(out, "SERRY_EMULATED_HOSTS", l->hosts_file);
}

/* The end of a pipe to write into; the other is watched. */
static int read_end(struct loose *l, size_t host, int stream)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        return -errno;
    watch_read(&l->hosts[host].watch, stream, ends[0]);
    return ends[1];
}

static void start(struct rack *r, size_t host)
{
    struct loose *l = loose_of(r);
    struct host *h = &l->hosts[host];
    auto_strv struct strv env = {0};
    auto_strv struct strv argv = {0};
    auto_fd int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    auto_fd int out = read_end(l, host, 0);
    auto_fd int err = read_end(l, host, 1);
    const int fds[] = {null, out, err};
    pid_t pid;

    environment(l, host, NULL, &env);
    strv_add_all(&argv, &l->argv);
    strv_add(&argv, "--base");
    strv_add(&argv, h->base);
    pid = spawn(l, host, strv_list(&argv), strv_list(&env), fds, 0);
    h->pid = pid > 0 ? pid : 0;
    if (pid < 0) /* told when its streams have ended, which is not within this call */
        watch_ended(&h->watch, 127 << 8);
}

static void run_command(struct rack *r, size_t host, char *const *argv, char *const *env,
                        const int fds[3], unsigned id)
{
    struct loose *l = loose_of(r);
    auto_strv struct strv all = {0};

    environment(l, host, env, &all);
    if (spawn(l, host, argv, strv_list(&all), fds, id) < 0)
        l->calls.on_exec_exit(l->data, id, 127 << 8);
}

/* ---- orders -------------------------------------------------------------------------------- */

static void send_signal(struct rack *r, size_t host, int number)
{
    pid_t pid = loose_of(r)->hosts[host].pid;

    if (pid > 0)
        (void)kill(pid, number);
}

/* The parent of a process, 0 where it is gone. */
static pid_t parent_of(pid_t pid)
{
    auto_free char *path = mem_printf("/proc/%d/stat", (int)pid);
    auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    char text[512];
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    const char *end; /* of the name: ") S PARENT" follows */

    if (n <= 0)
        return 0;
    text[n] = '\0';
    end = strrchr(text, ')');
    return end && strlen(end) > 4 ? (pid_t)strtol(end + 4, NULL, 10) : 0;
}

static bool descends(pid_t pid, pid_t from)
{
    for (int depth = 0; pid > 1 && depth < 100; depth++) {
        if (pid == from)
            return true;
        pid = parent_of(pid);
    }
    return false;
}

static void signal_tree(pid_t daemon, int number)
{
    DIR *all = opendir("/proc");
    struct dirent *entry;

    (void)kill(daemon, number);
    while (all && (entry = readdir(all))) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

        if (pid > 1 && pid != daemon && descends(pid, daemon))
            (void)kill(pid, number);
    }
    if (all)
        (void)closedir(all);
}

/* The daemon first, so that it starts no more; twice, for what has been started meanwhile. */
static void freeze(struct rack *r, size_t host, bool on)
{
    pid_t daemon = loose_of(r)->hosts[host].pid;

    for (int i = 0; i < 2 && daemon > 0; i++)
        signal_tree(daemon, on ? SIGSTOP : SIGCONT);
}

/* A reader has either the old or the new. */
static int write_names(const struct loose *l)
{
    auto_buf struct buf text = {0};
    auto_free char *new = mem_printf("%s.new", l->hosts_file);
    int rc;

    for (size_t i = 0; i < l->rack.n; i++)
        buf_printf(&text, "%s127.1.%zu.%zu %s\n", l->hosts[i].known ? "" : "#", (i + 1) >> 8,
                   (i + 1) & 255, l->hosts[i].name);
    rc = file_write_private(new, buf_text(&text), text.len);
    if (!rc && rename(new, l->hosts_file) < 0)
        rc = -errno;
    return rc;
}

static void name(struct rack *r, size_t host, bool known)
{
    loose_of(r)->hosts[host].known = known;
    (void)write_names(loose_of(r));
}

static void road(struct rack *r, size_t from, size_t to, bool cut, unsigned delay_ms, double loss)
{
    struct loose *l = loose_of(r);

    (void)from;
    (void)to;
    (void)cut;
    (void)delay_ms;
    (void)loss;
    if (!l->told_roads)
        (void)fprintf(stderr, "serry: warning: without isolation the network between hosts cannot "
                              "be cut, slowed or made to lose packets: it stays as it is\n");
    l->told_roads = true;
}

static void close_rack(struct rack *r)
{
    struct loose *l = loose_of(r);

    l->closing = true;
    l->handles++; /* until the end of this */
    for (size_t i = 0; i < r->n; i++)
        watch_close(&l->hosts[i].watch);
    while (l->children) { /* SIGKILL is at once, and each of them is our child */
        struct child *c = l->children;
        int status;

        l->children = c->next;
        if (c->id)
            (void)kill(-c->pid, SIGKILL); /* a daemon's keeper clears up after it */
        (void)kill(c->pid, SIGKILL);
        (void)waitpid(c->pid, &status, 0);
        (void)uv_poll_stop(&c->poll);
        (void)close(c->pidfd);
        uv_close((uv_handle_t *)&c->poll, on_child_closed);
    }
    (void)unlink(l->hosts_file);
    handle_gone(l);
}

/* ---- the whole ----------------------------------------------------------------------------- */

static const struct rack_ops ops = {start, send_signal, freeze,    name,
                                    road,  run_command, close_rack};

/* Beside the program in a build folder, else where it is installed. */
static char *find_library(void)
{
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    auto_free char *folder = NULL;
    auto_free char *near = NULL;

    self[n > 0 ? n : 0] = '\0';
    folder = path_parent(self);
    near = mem_printf("%s/emulator/" LIBRARY, folder);
    if (access(near, R_OK) == 0)
        return TAKE(near);
    return access(LIBEXECDIR "/" LIBRARY, R_OK) == 0 ? mem_dup(LIBEXECDIR "/" LIBRARY) : NULL;
}

static void add_host(struct loose *l, size_t i, const struct rack_host *from)
{
    struct host *h = &l->hosts[i];

    h->name = mem_dup(from->name);
    h->base = mem_dup(from->base);
    h->known = true;
    for (char *const *variable = from->env; variable && *variable; variable++)
        strv_add(&h->env, *variable);
    h->watch = (struct watch){.calls = &l->calls,
                              .data = l->data,
                              .host = i,
                              .on_handle_closed = on_handle_closed,
                              .owner = l,
                              .handles = &l->handles};
    watch_open(&h->watch, l->loop);
}

struct rack *loose_open(uv_loop_t *loop, const struct rack_spec *spec,
                        const struct rack_calls *calls, void *data, struct err *err)
{
    auto_free char *library = find_library();
    struct loose *l;
    int rc;

    if (!library) {
        (void)err_set(err, BLAME_PLATFORM, -ENOENT,
                      LIBEXECDIR "/" LIBRARY
                                 ": hosts without isolation need it; is serry installed?");
        return NULL;
    }
    for (size_t i = 0; i < spec->n; i++) {
        if (!spec->hosts[i].disk_mib && !spec->hosts[i].memory_mib)
            continue;
        (void)err_set(err, BLAME_PLATFORM, -ENOTSUP,
                      "%s: without isolation no disk and no memory can be limited",
                      spec->hosts[i].name);
        return NULL;
    }
    l = mem_zero(sizeof(*l));
    l->rack = (struct rack){.ops = &ops, .mode = RACK_LOOSE, .n = spec->n};
    l->loop = loop;
    l->calls = *calls;
    l->data = data;
    l->library = TAKE(library);
    l->hosts_file = path_join(spec->state, "hosts");
    for (char *const *word = spec->argv; *word; word++)
        strv_add(&l->argv, *word);
    l->hosts = mem_zero(spec->n * sizeof(*l->hosts));
    for (size_t i = 0; i < spec->n; i++)
        add_host(l, i, &spec->hosts[i]);
    rc = write_names(l);
    if (!rc)
        return &l->rack;
    (void)err_set(err, BLAME_PLATFORM, rc, "%s: %s", l->hosts_file, strerror(-rc));
    close_rack(&l->rack);
    return NULL;
}
