/* SPDX-License-Identifier: Apache-2.0
 *
 * Hosts made of namespaces. Each scene is a process of its own, once as root and once as an
 * ordinary user, with two hosts whose daemon is a shell, or this program itself. */
#include "config.h"

#include "emulator/rack.h"
#include "procs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/files.h"
#include "base/mem.h"
#include "emulator/folders.h"

#define HOSTS    2
#define LIMIT_MS 10000 /* for anything that is waited for */
#define NOBODY   65534
#define SKIPPED  77

#define FOLDER_SIZE 64
#define PORT        "7799"

/* Exit statuses of this program as a client in a host. */
enum { ANSWERED, OTHER, REFUSED, NO_ANSWER };

struct scene {
    uv_loop_t loop;
    uv_timer_t limit;
    bool late;
    char folder[FOLDER_SIZE];
    struct rack_host hosts[HOSTS];
    struct rack_spec spec;
    char *argv[4];
    struct rack *rack;
    struct buf output[HOSTS][2];
    bool ended[HOSTS];
    int status[HOSTS];
    size_t execs;
    int exec_status;
    bool broken;
};

#define UNTIL(s, what)                                                                             \
    do {                                                                                           \
        (void)uv_timer_start(&(s)->limit, on_late, LIMIT_MS, 0);                                   \
        while (!(what) && !(s)->late)                                                              \
            (void)uv_run(&(s)->loop, UV_RUN_ONCE);                                                 \
        (void)uv_timer_stop(&(s)->limit);                                                          \
        insist(what);                                                                              \
    } while (0)

static void on_late(uv_timer_t *timer)
{
    ((struct scene *)timer->data)->late = true;
}

static void on_output(void *data, size_t host, int stream, const char *bytes, size_t n)
{
    buf_add(&((struct scene *)data)->output[host][stream - 1], bytes, n);
}

static void on_exit_of(void *data, size_t host, int status)
{
    struct scene *s = data;

    insist(!s->ended[host]);
    s->ended[host] = true;
    s->status[host] = status;
}

static void on_exec_exit(void *data, unsigned id, int status)
{
    struct scene *s = data;

    insist(id == s->execs + 1);
    s->execs++;
    s->exec_status = status;
}

static void on_broken(void *data, const char *text)
{
    (void)fprintf(stderr, "broken: %s\n", text);
    ((struct scene *)data)->broken = true;
}

static const struct rack_calls calls = {on_output, on_exit_of, on_exec_exit, on_broken};

static const char *said(const struct scene *s, size_t host)
{
    return buf_text(&s->output[host][0]);
}

static void name_folder(char folder[FOLDER_SIZE], pid_t pid)
{
    (void)snprintf(folder, FOLDER_SIZE, "/tmp/test_rack.%d", (int)pid);
}

static void begin(struct scene *s, const char *script)
{
    static char *const environment[] = {(char *)"GREETING=hello", NULL};

    insist(uv_loop_init(&s->loop) == 0);
    insist(uv_timer_init(&s->loop, &s->limit) == 0);
    s->limit.data = s;
    name_folder(s->folder, getpid());
    insist(mkdir(s->folder, 0700) == 0);
    for (size_t i = 0; i < HOSTS; i++) {
        s->hosts[i].name = i ? "algo-2" : "algo-1";
        s->hosts[i].base = mem_printf("%s/%s", s->folder, s->hosts[i].name);
        s->hosts[i].env = environment;
        insist(mkdir(s->hosts[i].base, 0755) == 0);
    }
    s->argv[0] = (char *)"/bin/sh";
    s->argv[1] = (char *)"-c";
    s->argv[2] = mem_dup(script);
    s->spec = (struct rack_spec){.mode = geteuid() ? RACK_SINGLE : RACK_ROOT,
                                 .hosts = s->hosts,
                                 .n = HOSTS,
                                 .state = s->folder,
                                 .argv = s->argv};
}

static void rack_up(struct scene *s)
{
    struct err err = ERR_INIT;

    s->rack = rack_open(&s->loop, &s->spec, &calls, s, &err);
    if (!s->rack)
        (void)fprintf(stderr, "%s\n", err.text);
    insist(s->rack);
    insist(rack_mode(s->rack) == s->spec.mode);
}

static void start_all(struct scene *s)
{
    rack_up(s);
    for (size_t i = 0; i < HOSTS; i++)
        rack_start(s->rack, i);
}

static void finish(struct scene *s)
{
    insist(!s->broken);
    if (s->rack)
        rack_close(s->rack);
    uv_close((uv_handle_t *)&s->limit, NULL);
    (void)uv_run(&s->loop, UV_RUN_DEFAULT);
    insist(uv_loop_close(&s->loop) == 0);
    insist(folders_remove(s->folder) == 0);
    for (size_t i = 0; i < HOSTS; i++) {
        free((void *)s->hosts[i].base);
        buf_done(&s->output[i][0]);
        buf_done(&s->output[i][1]);
    }
    free(s->argv[2]);
}

/* The exit status of a command in the host. */
static int execute(struct scene *s, size_t host, char *const *argv)
{
    size_t before = s->execs;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    rack_exec(s->rack, host, argv, NULL, (const int[]){null, null, STDERR_FILENO},
              (unsigned)before + 1);
    UNTIL(s, s->execs > before);
    (void)close(null);
    return WIFEXITED(s->exec_status) ? WEXITSTATUS(s->exec_status) : -WTERMSIG(s->exec_status);
}

static int shell(struct scene *s, size_t host, const char *script)
{
    char *const argv[] = {(char *)"sh", (char *)"-c", (char *)script, NULL};

    return execute(s, host, argv);
}

/* ---- scenes ---- */

static void scene_identity(struct scene *s)
{
    auto_free char *file = NULL;

    begin(s, "hostname; echo $$ $GREETING $HOME $HOSTNAME; echo wrong >&2; hostname >/opt/ml/who;"
             "ls /dev/nvidia1 >/dev/null || exit 9; exit 3");
    s->hosts[0].gpus = s->hosts[1].gpus = 2;
    start_all(s);
    UNTIL(s, s->ended[0] && s->ended[1]);
    insist(strcmp(said(s, 0), "algo-1\n1 hello /root algo-1\n") == 0);
    insist(strcmp(said(s, 1), "algo-2\n1 hello /root algo-2\n") == 0);
    insist(strcmp(buf_text(&s->output[1][1]), "wrong\n") == 0);
    insist(WIFEXITED(s->status[0]) && WEXITSTATUS(s->status[0]) == 3);
    file = mem_printf("%s/algo-2/who", s->folder);
    insist(access(file, R_OK) == 0);
    finish(s);
}

/* What a host writes outside of /opt/ml is its own, or refused. */
static void scene_files(struct scene *s)
{
    auto_free char *outside = NULL;

    begin(s, "for p in /x /home/x /usr/x /etc/x /var/x /opt/x /tmp/x /run/x /dev/shm/x; do"
             " true >$p; done 2>/dev/null; echo done; exec sleep 60");
    s->spec.hide = "/usr/share";
    outside = mem_printf("%s/outside", s->folder);
    insist(file_write(outside, "", 0) == 0);
    start_all(s);
    UNTIL(s, strstr(said(s, 0), "done") && strstr(said(s, 1), "done"));
    for (size_t i = 0; i < 2; i++) {
        static const char *const places[] = {"/x",     "/home/x", "/usr/x", "/etc/x",    "/var/x",
                                             "/opt/x", "/tmp/x",  "/run/x", "/dev/shm/x"};

        insist(access(places[i], F_OK) < 0);
    }
    insist(shell(s, 0, "test -e /tmp/x && test -e /etc/x && test -e /run/x") == 0);
    insist(shell(s, 0, "test -e /x || test -e /home/x") == 1);
    insist(shell(s, 0, "mount -o remount,rw / 2>/dev/null") != 0);
    insist(shell(s, 0, "test -z \"$(ls /usr/share)\"") == 0);
    insist(shell(s, 0, "test -z \"$(ls /opt/ml)\" && : >/opt/ml/y") == 0);
    insist(shell(s, 1, "test -e /opt/ml/y") == 1);
    finish(s);
}

static void scene_exec(struct scene *s)
{
    char *const missing[] = {(char *)"no-such-program-there", NULL};
    int null;

    begin(s, "exec sleep 60");
    start_all(s);
    insist(shell(s, 0, "exit 5") == 5);
    insist(shell(s, 1, "test \"$(hostname) $GREETING $HOME\" = 'algo-2 hello /root'") == 0);
    insist(shell(s, 1, "kill -9 $$") == -SIGKILL);
    null = dup(STDERR_FILENO);
    insist(freopen("/dev/null", "w", stderr)); /* it says that there is no such program */
    insist(execute(s, 0, missing) == 127);
    insist(dup2(null, STDERR_FILENO) == STDERR_FILENO);
    rack_signal(s->rack, 0, SIGKILL);
    UNTIL(s, s->ended[0]);
    insist(WIFSIGNALED(s->status[0]) && WTERMSIG(s->status[0]) == SIGKILL);
    insist(shell(s, 0, "true") == 127); /* nobody is there */
    insist(!s->ended[1]);
    finish(s);
}

/* A frozen daemon gets its signal when it is thawed. */
static void scene_freeze(struct scene *s)
{
    begin(s, "trap 'exit 5' TERM; echo ready; while :; do sleep 60 & wait $!; done");
    start_all(s);
    UNTIL(s, strstr(said(s, 0), "ready") && strstr(said(s, 1), "ready"));
    rack_freeze(s->rack, 0, true);
    rack_signal(s->rack, 0, SIGTERM);
    rack_signal(s->rack, 1, SIGTERM);
    UNTIL(s, s->ended[1]);
    insist(!s->ended[0]);
    rack_freeze(s->rack, 0, false);
    UNTIL(s, s->ended[0]);
    insist(WEXITSTATUS(s->status[0]) == 5 && WEXITSTATUS(s->status[1]) == 5);
    finish(s);
}

static void scene_names(struct scene *s)
{
    static const char look[] = "grep -q '^10.66.0.2 algo-2$' /etc/hosts";

    begin(s, "exec sleep 60");
    s->spec.ipv6 = true;
    rack_up(s);
    rack_name(s->rack, 1, false);
    for (size_t i = 0; i < HOSTS; i++)
        rack_start(s->rack, i);
    insist(shell(s, 0, look) == 1 && shell(s, 1, look) == 1);
    insist(shell(s, 0, "grep -q '^fd66::2 algo-2$' /etc/hosts") == 1);
    rack_name(s->rack, 1, true);
    insist(shell(s, 0, look) == 0 && shell(s, 1, look) == 0);
    insist(shell(s, 0, "grep -A1 '^fd66::2 algo-2$' /etc/hosts | grep -q '^10.66.0.2'") == 0);
    finish(s);
}

/* A client in the second host; the first has this program as its daemon. */
static void scene_network(struct scene *s, const char *address)
{
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    char *const client[] = {self, (char *)"connect", (char *)address, NULL};

    insist(n > 0);
    self[n] = '\0';
    if (access(self, X_OK) < 0)
        _exit(SKIPPED);
    begin(s, "");
    s->argv[0] = self;
    s->argv[1] = (char *)"listen";
    s->spec.ipv6 = true;
    rack_up(s);
    insist(execute(s, 1, client) == REFUSED); /* the host is there before its daemon */
    rack_start(s->rack, 0);
    UNTIL(s, strstr(said(s, 0), "listening"));
    insist(execute(s, 1, client) == ANSWERED);
    rack_road(s->rack, 0, SIZE_MAX, true, 0, 0);
    insist(execute(s, 1, client) == NO_ANSWER);
    rack_road(s->rack, 0, SIZE_MAX, false, 0, 0);
    insist(execute(s, 1, client) == ANSWERED);
    finish(s);
}

static void scene_network_v4(struct scene *s)
{
    scene_network(s, "10.66.0.1");
}

static void scene_network_v6(struct scene *s)
{
    if (!file_exists("/proc/net/if_inet6"))
        _exit(SKIPPED);
    scene_network(s, "fd66::1");
}

static void scene_disk(struct scene *s)
{
    auto_free char *kept = NULL;
    auto_free char *before = NULL;
    struct stat st;

    begin(s, "cat /opt/ml/output/before; mkdir /opt/ml/output/a; echo x >/opt/ml/output/a/b;"
             "head -c 3000000 /dev/zero >/opt/ml/output/big 2>/dev/null || echo full");
    s->hosts[0].disk_mib = 1;
    for (size_t i = 0; i < HOSTS; i++) {
        auto_free char *output = mem_printf("%s/output", s->hosts[i].base);
        auto_free char *file = mem_printf("%s/before", output);

        insist(mkdir(output, 0755) == 0 && file_write(file, "old\n", 4) == 0);
    }
    start_all(s);
    UNTIL(s, s->ended[0] && s->ended[1]);
    insist(strcmp(said(s, 0), "old\nfull\n") == 0);
    insist(strcmp(said(s, 1), "old\n") == 0);
    kept = mem_printf("%s/output/a/b", s->hosts[0].base);
    before = mem_printf("%s/output/before", s->hosts[0].base);
    insist(stat(kept, &st) == 0 && st.st_size == 2 && access(before, R_OK) == 0);
    finish(s);
}

/* The daemon finds the limit where it looks for it. */
static void scene_memory(struct scene *s)
{
    struct err err = ERR_INIT;

    begin(s, "cat /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory/memory.limit_in_bytes");
    s->hosts[0].memory_mib = 64;
    s->rack = rack_open(&s->loop, &s->spec, &calls, s, &err);
    if (!s->rack) {
        insist(err.blame == BLAME_PLATFORM && err.code == -EOPNOTSUPP);
        insist(strstr(err.text, "memory limits need"));
        finish(s);
        return;
    }
    rack_start(s->rack, 0);
    UNTIL(s, s->ended[0]);
    insist(strcmp(said(s, 0), "67108864\n") == 0);
    finish(s);
}

static void scene_mistakes(struct scene *s)
{
    struct err err = ERR_INIT;

    begin(s, "exit 0");
    s->argv[0] = (char *)"/no/such/daemon";
    insist(!rack_open(&s->loop, &s->spec, &calls, s, &err));
    insist(err.blame == BLAME_USER && strstr(err.text, "/no/such/daemon"));
    s->argv[0] = (char *)"/bin/sh";
    insist(rmdir(s->hosts[1].base) == 0);
    s->spec.mode = RACK_AUTO; /* no other mode is tried for that */
    insist(!rack_open(&s->loop, &s->spec, &calls, s, &err));
    insist(err.blame == BLAME_USER && strstr(err.text, "algo-2"));
    finish(s);
}

/* The caller of a rack is killed: everything below it is gone, too. */
static void scene_killed(struct scene *s)
{
    int up[2];
    char c;
    pid_t caller;
    size_t gone = 0;

    insist(prctl(PR_SET_CHILD_SUBREAPER, 1UL) == 0 && pipe2(up, O_CLOEXEC) == 0);
    begin(s, "echo up; sleep 60 & setsid sleep 60 & wait");
    caller = fork();
    if (caller == 0) {
        insist(uv_loop_fork(&s->loop) == 0);
        start_all(s);
        UNTIL(s, strstr(said(s, 0), "up") && strstr(said(s, 1), "up"));
        insist(write(up[1], "u", 1) == 1);
        (void)pause();
    }
    (void)close(up[1]);
    insist(read(up[0], &c, 1) == 1);
    insist(kill(caller, SIGKILL) == 0);
    (void)alarm(LIMIT_MS / 1000); /* the end of this, if one of them lives on */
    while (waitpid(-1, NULL, 0) > 0)
        gone++;
    (void)alarm(0);
    insist(errno == ECHILD &&
           gone == 2); /* the caller, and process 1 of the rack, the last of its */
    finish(s);
}

/* ---- both users ---- */

static int play(void (*scene)(struct scene *), uid_t uid)
{
    char folder[FOLDER_SIZE];
    int status = 0;
    pid_t pid = fork();

    if (pid == 0) {
        static struct scene s;

        /* A process that changes its user hides its /proc, as one that is started by that user
         * does not. */
        if (uid && geteuid() == 0 &&
            (setgid(uid) < 0 || setuid(uid) < 0 || prctl(PR_SET_DUMPABLE, 1UL) < 0))
            _exit(1);
        (void)chdir("/");
        scene(&s);
        _exit(0);
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    name_folder(folder, pid);
    (void)folders_remove(folder); /* of a scene that failed */
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void scene_probe(struct scene *s)
{
    struct err err = ERR_INIT;

    begin(s, "exit 0");
    s->rack = rack_open(&s->loop, &s->spec, &calls, s, &err);
    if (s->rack)
        rack_close(s->rack);
    else
        (void)fprintf(stderr, "# no hosts of namespaces as %s: %s\n", geteuid() ? "user" : "root",
                      err.text);
    (void)folders_remove(s->folder);
    _exit(s->rack ? 0 : SKIPPED);
}

static void play_as(void (*scene)(struct scene *), uid_t uid)
{
    static int probes[2] = {-1, -1};
    int *probe = &probes[uid != 0];
    int status;

    if (!uid && geteuid() != 0)
        skip();
    if (*probe < 0)
        *probe = play(scene_probe, uid);
    if (*probe == SKIPPED)
        skip();
    status = play(scene, uid);
    if (status == SKIPPED)
        skip();
    assert_int_equal(status, 0);
}

#define BOTH(scene)                                                                                \
    static void test_##scene##_as_root(void **state)                                               \
    {                                                                                              \
        (void)state;                                                                               \
        play_as(scene_##scene, 0);                                                                 \
    }                                                                                              \
    static void test_##scene##_as_user(void **state)                                               \
    {                                                                                              \
        (void)state;                                                                               \
        play_as(scene_##scene, NOBODY);                                                            \
    }

BOTH(identity)
BOTH(files)
BOTH(exec)
BOTH(freeze)
BOTH(names)
BOTH(network_v4)
BOTH(network_v6)
BOTH(disk)
BOTH(memory)
BOTH(mistakes)
BOTH(killed)

#define TESTS(scene)                                                                               \
    cmocka_unit_test(test_##scene##_as_root), cmocka_unit_test(test_##scene##_as_user)

/* ---- this program in a host ---- */

static int listen_here(void)
{
    const struct sockaddr_in6 any = {.sin6_family = AF_INET6, .sin6_port = htons(7799)};
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (bind(fd, (const struct sockaddr *)&any, sizeof(any)) < 0 || listen(fd, 5) < 0 ||
        write(STDOUT_FILENO, "listening\n", 10) != 10)
        return OTHER;
    for (;;) {
        int client = accept(fd, NULL, NULL);

        (void)!write(client, "hello", 5);
        (void)close(client);
    }
}

static int connect_to(const char *address)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST};
    struct addrinfo *to = NULL;
    struct pollfd done = {.events = POLLOUT};
    char text[8];
    int code = 0;
    socklen_t size = sizeof(code);

    if (getaddrinfo(address, PORT, &hints, &to))
        return OTHER;
    done.fd = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    code = connect(done.fd, to->ai_addr, to->ai_addrlen) < 0 ? errno : 0;
    freeaddrinfo(to);
    if (code && code != EINPROGRESS)
        return code == ECONNREFUSED ? REFUSED : OTHER;
    if (poll(&done, 1, 400) == 0)
        return NO_ANSWER;
    if (getsockopt(done.fd, SOL_SOCKET, SO_ERROR, &code, &size) < 0 || code)
        return code == ECONNREFUSED ? REFUSED : OTHER;
    done.events = POLLIN;
    return poll(&done, 1, LIMIT_MS) == 1 && read(done.fd, text, sizeof(text)) == 5 ? ANSWERED
                                                                                   : OTHER;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TESTS(identity), TESTS(files),      TESTS(exec),       TESTS(freeze),
        TESTS(names),    TESTS(network_v4), TESTS(network_v6), TESTS(disk),
        TESTS(memory),   TESTS(mistakes),   TESTS(killed),
    };

    if (argc > 1 && strcmp(argv[1], "listen") == 0)
        return listen_here();
    if (argc > 2 && strcmp(argv[1], "connect") == 0)
        return connect_to(argv[2]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
