/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "run/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/files.h"
#include "base/mem.h"

/* Where the child has the pipe that a failure goes through; all above it is closed. */
#define REPORT_FD 3

enum step { STEP_FDS, STEP_CWD, STEP_EXEC };

static struct rlimit descriptors; /* for children; all zeros: as ours */

/* Written by a child that could not become the program; an end of file says that it did. A pipe and
 * not the memory that vfork shares: emulators and valgrind make a plain fork of it. */
struct failure {
    enum step step;
    int code;
};

/* All that the child needs, made ready before: it shares our memory and only makes system calls. */
struct image {
    const struct child_spec *spec;
    const char *path;
    pid_t parent;
    int fds[3]; /* what becomes 0, 1 and 2; none is one of these numbers */
    int report; /* nor is this */
};

__attribute__((noreturn)) static void give_up(enum step step)
{
    const struct failure f = {step, errno};
    ssize_t written = write(REPORT_FD, &f, sizeof(f));

    _exit(written < 0 ? 126 : 127);
}

/* Runs in the child, with all signals blocked. */
__attribute__((noinline, noreturn)) static void become_program(const struct image *im)
{
    static const unsigned long standard[8]; /* the kernel's struct sigaction: SIG_DFL, no flags */
    sigset_t none;

    /* Past libc, which keeps two for itself: its posix_spawn() leaves them ignored in us. */
    for (long s = 1; s < NSIG; s++)
        (void)syscall(SYS_rt_sigaction, s, standard, NULL, sizeof(standard[0]));
    (void)setsid();
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != im->parent)
        _exit(127); /* it died before the line above */
    for (int i = 0; i < 3; i++)
        if (dup2(im->fds[i], i) < 0)
            _exit(127);
    if (im->report != REPORT_FD && dup3(im->report, REPORT_FD, O_CLOEXEC) < 0)
        _exit(127);
    (void)close_range(REPORT_FD + 1, ~0U, 0); /* before Linux 5.9 O_CLOEXEC must do */
    if (descriptors.rlim_max)
        (void)setrlimit(RLIMIT_NOFILE, &descriptors);
    if (im->spec->cwd && chdir(im->spec->cwd) < 0)
        give_up(STEP_CWD);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)execve(im->path, im->spec->argv, im->spec->env);
    give_up(STEP_EXEC);
}

/* The child runs on this stack frame, so nothing else lives here. posix_spawn() has no PDEATHSIG.
 */
__attribute__((noinline)) static pid_t start(const struct image *im)
{
    pid_t pid = vfork(); /* NOLINT(clang-analyzer-security.insecureAPI.vfork) */

    if (pid == 0)
        become_program(im); /* NOLINT(clang-analyzer-unix.Vfork): system calls only, no return */
    return pid < 0 ? -errno : pid;
}

static pid_t start_blocked(const struct image *im)
{
    sigset_t all, before;
    pid_t pid;

    (void)sigfillset(&all); /* a handler of ours in the child would run on our memory */
    (void)sigprocmask(SIG_SETMASK, &all, &before);
    pid = start(im);
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    return pid;
}

/* `path` as the child sees it, for us to look at. */
static char *seen_from_here(const struct child_spec *spec, const char *path)
{
    return *path == '/' || !spec->cwd ? mem_dup(path) : path_join(spec->cwd, path);
}

static const char *search_path(char *const *env)
{
    for (; *env; env++)
        if (strncmp(*env, "PATH=", 5) == 0)
            return *env + 5;
    return "/usr/bin:/bin";
}

/* The first program on PATH; else the first file that is none, so that exec says why; else NULL. */
static char *find_program(const struct child_spec *spec)
{
    const char *name = spec->argv[0];
    auto_free char *second_best = NULL;

    if (strchr(name, '/'))
        return mem_dup(name);
    for (const char *p = search_path(spec->env); p && *name;
         p = strchr(p, ':') ? strchr(p, ':') + 1 : NULL) {
        auto_free char *dir = mem_dup_n(p, strcspn(p, ":"));
        auto_free char *path = path_join(*dir ? dir : ".", name);
        auto_free char *here = seen_from_here(spec, path);
        struct stat st;

        if (stat(here, &st) < 0 || !S_ISREG(st.st_mode))
            continue;
        if (access(here, X_OK) == 0)
            return TAKE(path);
        if (!second_best)
            second_best = TAKE(path);
    }
    return TAKE(second_best);
}

static enum err_blame blame_of(int code)
{
    static const int users[] = {ENOENT, EACCES,       EPERM,   ENOEXEC, ENOTDIR, EISDIR,
                                ELOOP,  ENAMETOOLONG, ETXTBSY, EINVAL,  E2BIG,   ELIBBAD};

    for (size_t i = 0; i < LENGTH(users); i++)
        if (users[i] == code)
            return BLAME_USER;
    return BLAME_PLATFORM;
}

/* The file is there, yet exec did not find something. */
static int missing_interpreter(const char *name, char *head, struct err *err)
{
    char *word;

    if (strncmp(head, "#!", 2) != 0)
        return err_set(err, BLAME_USER, -ENOENT,
                       "exec of %s: its program loader is not there (built for another system?)",
                       name);
    head[strcspn(head, "\n")] = '\0';
    word = head + 2 + strspn(head + 2, " \t");
    word[strcspn(word, " \t")] = '\0';
    if (word[0] && word[strlen(word) - 1] == '\r') {
        word[strlen(word) - 1] = '\0';
        return err_set(err, BLAME_USER, -ENOENT,
                       "exec of %s: its lines end in CR LF, so that the \"#!\" line names no "
                       "interpreter; save it with LF",
                       name);
    }
    return err_set(err, BLAME_USER, -ENOENT,
                   "exec of %s: the interpreter of its \"#!\" line, %s, is not there", name, word);
}

static int no_file(const struct image *im, struct err *err)
{
    const struct child_spec *spec = im->spec;
    auto_free char *here = seen_from_here(spec, im->path);
    auto_fd int fd = open(here, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    char head[256] = "";

    if (fd >= 0 && read(fd, head, sizeof(head) - 1) > 0)
        return missing_interpreter(spec->argv[0], head, err);
    if (*im->path != '/' && spec->cwd)
        return err_set(err, BLAME_USER, -ENOENT, "exec of %s: %s (in %s)", spec->argv[0],
                       strerror(ENOENT), spec->cwd);
    return err_set(err, BLAME_USER, -ENOENT, "exec of %s: %s", spec->argv[0], strerror(ENOENT));
}

static void add_sizes(char *const *v, size_t *sum, size_t *longest)
{
    for (; *v; v++) {
        size_t n = strlen(*v) + 1;

        *sum += n + sizeof(*v);
        if (n > *longest)
            *longest = n;
    }
}

static int too_big(const struct child_spec *spec, struct err *err)
{
    size_t sum = 0, longest = 0;

    add_sizes(spec->argv, &sum, &longest);
    add_sizes(spec->env, &sum, &longest);
    return err_set(err, BLAME_USER, -E2BIG,
                   "exec of %s: %s: arguments and environment are %zu bytes, the longest string of "
                   "them %zu",
                   spec->argv[0], strerror(E2BIG), sum, longest);
}

static int explain(const struct image *im, const struct failure *f, struct err *err)
{
    const char *name = im->spec->argv[0];

    if (f->step == STEP_CWD)
        return err_set(err, blame_of(f->code), -f->code, "exec of %s: its working folder %s: %s",
                       name, im->spec->cwd, strerror(f->code));
    switch (f->code) {
    case ENOENT:
        return no_file(im, err);
    case E2BIG:
        return too_big(im->spec, err);
    case ENOEXEC:
        return err_set(err, BLAME_USER, -ENOEXEC,
                       "exec of %s: %s: no program for this machine, and a script without a \"#!\" "
                       "line",
                       name, strerror(ENOEXEC));
    default:
        return err_set(err, blame_of(f->code), -f->code, "exec of %s: %s", name, strerror(f->code));
    }
}

/* A copy of `fd` that is none of 0, 1, 2. */
static int lift(int fd)
{
    return fcntl(fd, F_DUPFD_CLOEXEC, REPORT_FD);
}

/* 0 or a negative errno; what was opened stays in `im` in both cases. */
static int open_fds(const struct child_spec *spec, struct image *im, int *read_end)
{
    auto_fd int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    int ends[2];

    if (null < 0 || pipe2(ends, O_CLOEXEC) < 0)
        return -errno;
    *read_end = ends[0];
    im->report = lift(ends[1]);
    (void)close(ends[1]);
    im->fds[0] = lift(null);
    im->fds[1] = lift(spec->out < 0 ? null : spec->out);
    im->fds[2] = lift(spec->err < 0 ? null : spec->err);
    if (im->report < 0 || im->fds[0] < 0 || im->fds[1] < 0 || im->fds[2] < 0)
        return -errno;
    return 0;
}

static void close_fds(struct image *im)
{
    cleanup_fd(&im->report);
    for (size_t i = 0; i < LENGTH(im->fds); i++)
        cleanup_fd(&im->fds[i]);
}

/* Waits until the child is the program (0), or has said why not and is gone. */
static int hear(const struct image *im, pid_t pid, int read_end, struct err *err)
{
    struct failure f;
    ssize_t n;

    do
        n = read(read_end, &f, sizeof(f));
    while (n < 0 && errno == EINTR);
    if (n != (ssize_t)sizeof(f))
        return 0; /* killed before it was one: the reaper will tell */
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    return explain(im, &f, err);
}

pid_t child_spawn(const struct child_spec *spec, struct err *err)
{
    auto_free char *path = find_program(spec);
    auto_fd int read_end = -1;
    struct image im = {
        spec, path, getpid(), {-1, -1, -1},
           -1
    };
    pid_t pid;
    int rc;

    if (!path)
        return err_set(err, BLAME_USER, -ENOENT, "exec of %s: not found on PATH (%s)",
                       spec->argv[0], search_path(spec->env));
    pid = open_fds(spec, &im, &read_end);
    if (pid == 0)
        pid = start_blocked(&im);
    close_fds(&im);
    if (pid < 0)
        return err_set(err, BLAME_PLATFORM, pid, "starting %s: %s", spec->argv[0], strerror(-pid));
    rc = hear(&im, pid, read_end, err);
    return rc < 0 ? rc : pid;
}

void child_raise_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return;
    descriptors = limit;
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

int child_pipe(int size, int *read_end, int *write_end)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        return -errno;
    /* an unprivileged process may get less than it asks for, or nothing beyond the standard */
    while (fcntl(ends[1], F_SETPIPE_SZ, size) < 0 && size / 2 > fcntl(ends[1], F_GETPIPE_SZ))
        size /= 2;
    (void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
    *read_end = ends[0];
    *write_end = ends[1];
    return 0;
}
