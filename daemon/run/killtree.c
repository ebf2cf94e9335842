/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "run/killtree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/mem.h"

/* Looks before the kill, until one shows nobody new: two are the rule, more while someone forks. */
#define LOOKS_MAX 16

struct proc {
    pid_t pid, ppid, group, session;
    unsigned long long start; /* tells a process from a later one of the same number */
    bool alive;
    bool ours;
};

struct table { /* sorted by pid */
    struct proc *v;
    size_t n, cap;
};

/* Whom to look for, and what to do about it. */
struct hunt {
    const char *mark;
    pid_t spare;
    bool everywhere; /* not only below this process */
    bool stop;       /* each one at once: later it may have forked and be gone */
};

static struct {
    struct session {
        pid_t pid;
        unsigned long long start;
    } * v;
    size_t n;
} noted;

static bool has_others; /* children that were there before the job */

void killtree_new_mark(char *text)
{
    unsigned char bytes[16] = {0};
    siginfo_t info;

    has_others = waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0; /* no ECHILD */
    if (getentropy(bytes, sizeof(bytes)) < 0) { /* never seen; our pid and time do as well */
        uint64_t parts[2] = {clock_wall_ms(), (uint64_t)getpid()};

        memcpy(bytes, parts, sizeof(bytes));
    }
    for (size_t i = 0; i < sizeof(bytes); i++)
        (void)snprintf(text + 2 * i, 3, "%02x", bytes[i]);
}

/* ---- the process table ----------------------------------------------------------------------- */

/* The text of /proc/PID/stat; the name in it may hold blanks and parentheses. */
static bool parse_stat(const char *text, struct proc *p)
{
    enum { PPID = 4, GROUP = 5, SESSION = 6, THREADS = 20, START = 22, FIELDS };
    unsigned long long field[FIELDS];
    const char *at = strrchr(text, ')');
    char state;

    if (!at || strlen(at) < 4)
        return false;
    state = at[2];
    at += 3;
    for (int i = PPID; i < FIELDS; i++) {
        char *end;

        field[i] = strtoull(at, &end, 10);
        if (end == at)
            return false;
        at = end;
    }
    p->ppid = (pid_t)field[PPID];
    p->group = (pid_t)field[GROUP];
    p->session = (pid_t)field[SESSION];
    p->start = field[START];
    /* a program whose main thread has left looks like a zombie, but has other threads */
    p->alive = (state != 'Z' && state != 'X') || field[THREADS] > 1;
    return true;
}

static bool read_stat(pid_t pid, struct proc *p)
{
    char path[32];
    char text[1024];
    auto_fd int fd = -1;
    ssize_t n;

    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    n = read(fd, text, sizeof(text) - 1);
    if (n <= 0)
        return false;
    text[n] = '\0';
    *p = (struct proc){.pid = pid};
    return parse_stat(text, p);
}

static void table_add(struct table *t, const struct proc *p)
{
    if (t->n == t->cap) {
        t->cap = t->cap ? 2 * t->cap : 128;
        t->v = mem_grow(t->v, t->cap, sizeof(*t->v));
    }
    t->v[t->n++] = *p;
}

static int by_pid(const void *a, const void *b)
{
    const struct proc *p = a, *q = b;

    return (p->pid > q->pid) - (p->pid < q->pid);
}

static struct proc *table_find(const struct table *t, pid_t pid)
{
    const struct proc key = {.pid = pid};

    return t->n ? bsearch(&key, t->v, t->n, sizeof(*t->v), by_pid) : NULL;
}

/* That of another PID namespace, or none at all, would name strangers. */
static bool proc_is_ours(void)
{
    char text[16] = "";

    return readlink("/proc/self", text, sizeof(text) - 1) > 0 &&
           strtol(text, NULL, 10) == (long)getpid();
}

/* ---- who is the job's -------------------------------------------------------------------------
 */

void killtree_note(pid_t session)
{
    struct proc p = {.start = 0};

    (void)read_stat(session, &p);
    noted.v = mem_grow(noted.v, noted.n + 1, sizeof(*noted.v));
    noted.v[noted.n++] = (struct session){session, p.start};
}

void killtree_forget(void)
{
    free(noted.v);
    noted.v = NULL;
    noted.n = 0;
}

/* A leader that is another process than the one that was noted has a session of its own. */
static bool in_noted_session(const struct proc *p)
{
    struct proc leader;

    for (size_t i = 0; i < noted.n; i++)
        if (noted.v[i].pid == p->session &&
            (!read_stat(p->session, &leader) || leader.start == noted.v[i].start))
            return true;
    return false;
}

static bool carries_mark(pid_t pid, const char *mark)
{
    char path[32];
    auto_free char *wanted = mem_printf("%s=%s", KILLTREE_MARK, mark);
    auto_free char *entry = NULL;
    size_t cap = 0;
    bool found = false;
    FILE *f;

    (void)snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
    f = fopen(path, "re");
    if (!f)
        return false;
    while (!found && getdelim(&entry, &cap, '\0', f) > 0)
        found = strcmp(entry, wanted) == 0;
    (void)fclose(f);
    return found;
}

static bool is_ours(const struct table *t, const struct proc *p, const struct hunt *h)
{
    const struct proc *parent;

    if (p->pid == getpid() || p->pid == h->spare)
        return false;
    if (h->everywhere || (p->ppid == getpid() && (getpid() == 1 || has_others)))
        return in_noted_session(p) || carries_mark(p->pid, h->mark);
    if (p->ppid == getpid())
        return true;
    parent = table_find(t, p->ppid);
    return parent && parent->ours;
}

/* A session that is not this process's own was made by a descendant, and so are all in it. To stop
 * a group outruns every fork in it: the kernel lets no child slip through. */
static void stop(const struct proc *p, const struct hunt *h)
{
    if (!h->everywhere && p->session != getsid(0) && p->group > 1)
        (void)kill(-p->group, SIGSTOP);
    else if (p->alive)
        (void)kill(p->pid, SIGSTOP);
}

/* True if `p` has just been found to be ours. */
static bool judge(const struct table *t, struct proc *p, const struct hunt *h)
{
    if (p->ours || !is_ours(t, p, h))
        return false;
    p->ours = true;
    if (h->stop)
        stop(p, h);
    return true;
}

/* Without /proc: the children that were noted and are not reaped, so that the number is theirs. */
static void look_at_children(struct table *t)
{
    for (size_t i = 0; i < noted.n; i++) {
        siginfo_t info = {.si_pid = 0};

        if (waitid(P_PID, (id_t)noted.v[i].pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0)
            table_add(t, &(struct proc){.pid = noted.v[i].pid,
                                        .start = noted.v[i].start,
                                        .alive = info.si_pid == 0,
                                        .ours = true});
    }
}

/* /proc lists by number, so most parents come before their children and are judged by then. */
static void look_at_proc(struct table *t, const struct hunt *h, DIR *dir)
{
    struct dirent *entry;
    struct proc p;

    while ((entry = readdir(dir))) {
        long pid = strtol(entry->d_name, NULL, 10); /* 0: no process */

        if (pid > 0 && read_stat((pid_t)pid, &p)) {
            (void)judge(t, &p, h);
            table_add(t, &p);
        }
    }
    if (t->n)
        qsort(t->v, t->n, sizeof(*t->v), by_pid);
}

/* Reads the table and finds who is ours in it. */
static void look(struct table *t, const struct hunt *h)
{
    DIR *dir = proc_is_ours() ? opendir("/proc") : NULL;
    bool more = true;

    t->n = 0;
    if (!dir) {
        look_at_children(t);
        return;
    }
    look_at_proc(t, h, dir);
    (void)closedir(dir);
    while (more) {
        more = false;
        for (size_t i = 0; i < t->n; i++)
            more |= judge(t, &t->v[i], h);
    }
}

/* ---- the kill ---------------------------------------------------------------------------------
 */

/* Zombies count here: a new one was alive a moment ago, and may have forked. */
static bool has_newcomer(const struct table *now, const struct table *before)
{
    for (size_t i = 0; i < now->n; i++) {
        const struct proc *p = &now->v[i];
        const struct proc *old = table_find(before, p->pid);

        if (p->ours && !(old && old->ours && old->start == p->start))
            return true;
    }
    return false;
}

/* Leaves those who were killed in `victims`. */
static void kill_ours(const struct hunt *h, struct table *victims)
{
    struct table now = {0}, before = {0};

    look(&now, h);
    for (int looks = 1; looks < LOOKS_MAX && has_newcomer(&now, &before); looks++) {
        struct table old = before;

        before = now;
        now = old;
        look(&now, h);
    }
    victims->n = 0;
    for (size_t i = 0; i < now.n; i++) {
        const struct proc *p = &now.v[i];

        if (!p->ours || !p->alive)
            continue;
        (void)kill(p->pid, SIGKILL);
        table_add(victims, p);
    }
    free(now.v);
    free(before.v);
}

size_t killtree_kill(const char *mark, pid_t spare)
{
    const struct hunt h = {.mark = mark, .spare = spare, .stop = true};
    struct table victims = {0};

    kill_ours(&h, &victims);
    free(victims.v);
    return victims.n;
}

size_t killtree_count(const char *mark, pid_t spare)
{
    const struct hunt h = {.mark = mark, .spare = spare};
    struct table t = {0};
    size_t n = 0;

    look(&t, &h);
    for (size_t i = 0; i < t.n; i++)
        n += t.v[i].ours && t.v[i].alive;
    free(t.v);
    return n;
}

static void await_death(pid_t pid, uint64_t deadline_ms)
{
    auto_fd int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    struct pollfd p = {.fd = fd, .events = POLLIN};
    uint64_t now = clock_ms();

    if (fd < 0 && errno == ESRCH)
        return;
    if (now < deadline_ms) /* before Linux 5.3 there is no pidfd: a moment, then the next look */
        (void)poll(&p, 1, fd < 0 ? 20 : (int)(deadline_ms - now));
}

bool killtree_sweep(const char *mark, uint64_t limit_ms)
{
    const struct hunt h = {.mark = mark, .everywhere = true, .stop = true};
    const uint64_t deadline_ms = clock_ms() + limit_ms;
    struct table victims = {0};

    do {
        kill_ours(&h, &victims);
        for (size_t i = 0; i < victims.n; i++)
            await_death(victims.v[i].pid, deadline_ms);
    } while (victims.n && clock_ms() < deadline_ms);
    free(victims.v);
    return victims.n == 0;
}
