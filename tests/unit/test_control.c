/* SPDX-License-Identifier: Apache-2.0
 *
 * The control socket, with a rack that writes down what it is asked for; clients are children. */
#include "config.h"

#include "emulator/control.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/files.h"
#include "base/mem.h"
#include "base/strv.h"
#include "emulator/fault.h"
#include "emulator/folders.h"
#include "emulator/rack.h"
#include "emulator/state.h"
#include "procs.h"

#define LIMIT_S   60
#define LIMIT_MS  10000
#define LATER     UINT32_MAX /* as a status: the command is still running */
#define HOST_LOST 69
#define USAGE     64

static struct {
    uv_loop_t loop;
    char top[64]; /* TMPDIR */
    struct state state;
    struct strv names;
    struct control *control;
    struct buf asked;
    uint32_t exec_status; /* of the next command */
    unsigned exec_id;
    uv_poll_t gone; /* a pipe that only the client holds */
    uv_timer_t limit;
} t;

/* ---- the rack ---- */

void rack_start(struct rack *r, size_t host)
{
    (void)r;
    (void)host;
    fail_msg("no request may start a host");
}

void rack_signal(struct rack *r, size_t host, int number)
{
    (void)r;
    buf_printf(&t.asked, "signal %zu %d;", host, number);
}

void rack_freeze(struct rack *r, size_t host, bool on)
{
    (void)r;
    buf_printf(&t.asked, "freeze %zu %d;", host, on);
}

void rack_name(struct rack *r, size_t host, bool known)
{
    (void)r;
    (void)host;
    (void)known;
    fail_msg("no request may change names");
}

void rack_road(struct rack *r, size_t from, size_t to, bool cut, unsigned delay_ms, double loss)
{
    (void)r;
    (void)loss;
    buf_printf(&t.asked, "road %ld %ld %d %u;", (long)from, (long)to, cut, delay_ms);
}

void rack_exec(struct rack *r, size_t host, char *const *argv, char *const *env, const int fds[3],
               unsigned id)
{
    (void)r;
    (void)env;
    buf_printf(&t.asked, "exec %zu", host);
    for (; *argv; argv++)
        buf_printf(&t.asked, " %s", *argv);
    buf_str(&t.asked, ";");
    assert_int_equal(fd_write_all(fds[1], "said to 1", 9), 0);
    assert_int_equal(fd_write_all(fds[2], ", said to 2", 11), 0);
    t.exec_id = id;
    if (t.exec_status != LATER)
        control_exec_exit(t.control, id, (int)t.exec_status);
}

/* ---- a served emulation ---- */

static void on_fault(void *data, const struct fault *fault)
{
    (void)data;
    fault_apply(fault, NULL);
}

static void serve(void)
{
    auto_free char *path = path_join(t.state.path, "control.sock");
    struct err err = ERR_INIT;

    t.control = control_open(&t.loop, path, NULL, &t.names, on_fault, NULL, &err);
    if (!t.control)
        fail_msg("%s", err.text);
}

static void on_limit(uv_timer_t *timer)
{
    (void)timer;
    fail_msg("a client hangs");
}

static void on_gone(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    (void)uv_poll_stop(poll);
    uv_stop(poll->loop);
}

static int begin(void **state)
{
    struct err err = ERR_INIT;

    (void)state;
    (void)alarm(LIMIT_S);
    memset(&t, 0, sizeof(t));
    t.state.lock = -1;
    (void)snprintf(t.top, sizeof(t.top), "/tmp/test-control-XXXXXX");
    assert_non_null(mkdtemp(t.top));
    assert_int_equal(setenv("TMPDIR", t.top, 1), 0);
    if (state_open(&t.state, NULL, false, &err))
        fail_msg("%s", err.text);
    strv_add(&t.names, "algo-1");
    strv_add(&t.names, "algo-2");
    assert_int_equal(uv_loop_init(&t.loop), 0);
    assert_int_equal(uv_timer_init(&t.loop, &t.limit), 0);
    serve();
    return 0;
}

static int finish(void **state)
{
    (void)state;
    if (t.control)
        control_close(t.control);
    uv_close((uv_handle_t *)&t.limit, NULL);
    while (uv_run(&t.loop, UV_RUN_DEFAULT))
        ;
    assert_int_equal(uv_loop_close(&t.loop), 0);
    assert_int_equal(state_close(&t.state), 0);
    assert_int_equal(folders_remove(t.top), 0);
    strv_done(&t.names);
    buf_done(&t.asked);
    return 0;
}

/* ---- clients ---- */

struct client {
    pid_t pid;
    int gone, text; /* ends of pipes: for its end, and for what it says on both streams */
};

static struct client fork_client(void)
{
    int gone[2], text[2];
    struct client c;

    assert_int_equal(pipe2(gone, O_CLOEXEC), 0);
    assert_int_equal(pipe2(text, O_CLOEXEC), 0);
    c = (struct client){.pid = fork(), .gone = gone[0], .text = text[0]};
    assert_true(c.pid >= 0);
    if (c.pid == 0) {
        insist(dup2(text[1], 1) == 1 && dup2(text[1], 2) == 2);
        (void)close(text[1]);
        return c;
    }
    (void)close(gone[1]);
    (void)close(text[1]);
    return c;
}

/* Serves until the client is dead; its exit status. What it said goes to `text` (NULL is fine). */
static int serve_until_dead(struct client c, char *text)
{
    char unread[1024];
    int status;

    assert_int_equal(uv_poll_init(&t.loop, &t.gone, c.gone), 0);
    assert_int_equal(uv_poll_start(&t.gone, UV_READABLE | UV_DISCONNECT, on_gone), 0);
    assert_int_equal(uv_timer_start(&t.limit, on_limit, LIMIT_MS, 0), 0);
    (void)uv_run(&t.loop, UV_RUN_DEFAULT);
    (void)uv_timer_stop(&t.limit);
    uv_close((uv_handle_t *)&t.gone, NULL);
    (void)uv_run(&t.loop, UV_RUN_NOWAIT);
    (void)close(c.gone);
    status = status_of(c.pid);
    (void)read_to_end(c.text, text ? text : unread, sizeof(unread));
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* Serves until a command runs, which goes on. */
static void serve_until_asked(void)
{
    t.exec_status = LATER;
    assert_int_equal(uv_timer_start(&t.limit, on_limit, LIMIT_MS, 0), 0);
    while (!t.exec_id)
        (void)uv_run(&t.loop, UV_RUN_ONCE);
    (void)uv_timer_stop(&t.limit);
}

static _Noreturn void end_client(int status, const struct err *err)
{
    (void)fd_write_all(2, err->text, strlen(err->text));
    _exit(status);
}

static int exec_in(const char *state, const char *host, char *const *argv, char *text)
{
    struct client c = fork_client();
    struct err err = ERR_INIT;

    if (c.pid == 0)
        end_client(control_exec(state, host, argv, &err), &err);
    return serve_until_dead(c, text);
}

static int fault_in(const char *state, const char *spec, char *text)
{
    struct client c = fork_client();
    struct err err = ERR_INIT;

    if (c.pid == 0)
        end_client(control_fault(state, spec, &err), &err);
    return serve_until_dead(c, text);
}

static char *const command[] = {"echo", "", "a word", NULL};

static void test_a_command_has_the_clients_streams_and_gives_its_status(void **state)
{
    (void)state;
    char text[1024];

    t.exec_status = 3 << 8;
    assert_int_equal(exec_in(t.state.path, "algo-2", command, text), 3);
    assert_string_equal(buf_text(&t.asked), "exec 1 echo  a word;");
    assert_string_equal(text, "said to 1, said to 2");
    t.exec_status = SIGTERM;
    assert_int_equal(exec_in(t.state.path, "algo-1", command, NULL), 128 + SIGTERM);
    t.exec_status = 0;
    assert_int_equal(exec_in(t.state.path, "algo-1", command, NULL), 0);
}

static void test_a_host_is_named_or_numbered(void **state)
{
    (void)state;
    char text[1024];

    assert_int_equal(exec_in(t.state.path, "2", command, NULL), 0);
    assert_string_equal(buf_text(&t.asked), "exec 1 echo  a word;");
    buf_clear(&t.asked);
    assert_int_equal(exec_in(t.state.path, "algo-7", command, text), USAGE);
    assert_non_null(strstr(text, "algo-7"));
    assert_non_null(strstr(text, "algo-1, algo-2"));
    assert_int_equal(exec_in(t.state.path, "0", command, NULL), USAGE);
    assert_int_equal(exec_in(t.state.path, "3", command, NULL), USAGE);
    assert_int_equal(exec_in(t.state.path, "2x", command, NULL), USAGE);
    assert_int_equal(exec_in(t.state.path, "", command, NULL), USAGE);
    assert_string_equal(buf_text(&t.asked), "");
}

static void test_a_fault_reaches_the_rack(void **state)
{
    (void)state;
    assert_int_equal(fault_in(t.state.path, "cut:algo-2", NULL), 0);
    assert_string_equal(buf_text(&t.asked), "road 1 -1 1 0;road -1 1 1 0;");
    buf_clear(&t.asked);
    assert_int_equal(fault_in(t.state.path, "kill:algo-1", NULL), 0);
    assert_string_equal(buf_text(&t.asked), "signal 0 9;");
}

static void test_a_fault_that_cannot_be_is_refused_with_a_sentence(void **state)
{
    (void)state;
    static const struct {
        const char *spec, *says;
    } cases[] = {
        {"kil:algo-1",        "did you mean \"kill\""},
        {"disk:algo-1:16MiB", "at the start"         },
        {"kill:algo-1@3",     "at the start"         },
    };

    for (size_t i = 0; i < LENGTH(cases); i++) {
        char text[1024];

        assert_int_equal(fault_in(t.state.path, cases[i].spec, text), USAGE);
        if (!strstr(text, cases[i].says))
            fail_msg("\"%s\" lacks \"%s\"", text, cases[i].says);
    }
    assert_string_equal(buf_text(&t.asked), "");
}

static void test_the_only_emulation_is_found(void **state)
{
    (void)state;
    struct state second = {.lock = -1};
    struct err err = ERR_INIT;
    char text[1024];

    assert_int_equal(exec_in(NULL, "algo-1", command, NULL), 0);
    assert_int_equal(state_open(&second, NULL, false, &err), 0);
    assert_int_equal(exec_in(NULL, "algo-1", command, text), USAGE);
    assert_non_null(strstr(text, second.path));
    assert_non_null(strstr(text, t.state.path));
    assert_non_null(strstr(text, "--state"));
    assert_int_equal(state_close(&second), 0);
    assert_int_equal(state_close(&t.state), 0);
    assert_int_equal(exec_in(NULL, "algo-1", command, text), USAGE);
    assert_non_null(strstr(text, "no emulation"));
}

static void test_only_the_owner_may_connect(void **state)
{
    (void)state;
    auto_free char *path = path_join(t.state.path, "control.sock");
    struct stat st;

    assert_int_equal(stat(path, &st), 0);
    assert_true(S_ISSOCK(st.st_mode));
    assert_int_equal(st.st_mode & 0777, 0600);
    control_close(TAKE(t.control));
    assert_false(file_exists(path));
}

static void test_the_folder_may_have_a_long_name(void **state)
{
    (void)state;
    char name[200];
    auto_free char *path = NULL;
    struct err err = ERR_INIT;

    memset(name, 'n', sizeof(name));
    name[sizeof(name) - 1] = '\0';
    control_close(TAKE(t.control));
    assert_int_equal(state_close(&t.state), 0);
    path = path_join(t.top, name);
    assert_int_equal(state_open(&t.state, path, false, &err), 0);
    serve();
    assert_int_equal(exec_in(path, "algo-1", command, NULL), 0);
    control_close(TAKE(t.control));
}

static void test_a_long_command_is_refused(void **state)
{
    (void)state;
    auto_free char *word = mem_zero(70001);
    char *const argv[] = {"echo", word, NULL};
    char text[1024];

    memset(word, 'x', 70000);
    assert_int_equal(exec_in(t.state.path, "algo-1", argv, text), USAGE);
    assert_non_null(strstr(text, "longer than 65536 bytes"));
}

static void test_a_client_that_goes_leaves_its_command(void **state)
{
    (void)state;
    struct client c = fork_client();
    struct err err = ERR_INIT;

    if (c.pid == 0) {
        (void)control_exec(t.state.path, "algo-1", command, &err);
        _exit(1);
    }
    serve_until_asked();
    assert_int_equal(kill(c.pid, SIGKILL), 0);
    assert_true(WIFSIGNALED(status_of(c.pid)));
    (void)uv_run(&t.loop, UV_RUN_NOWAIT);
    control_exec_exit(t.control, t.exec_id, 0);
    control_exec_exit(t.control, t.exec_id + 7, 0);
    (void)close(c.gone);
    (void)close(c.text);
    t.exec_status = 0;
    assert_int_equal(exec_in(t.state.path, "algo-1", command, NULL), 0);
}

static void test_a_client_is_told_that_the_emulation_has_ended(void **state)
{
    (void)state;
    struct client c = fork_client();
    struct err err = ERR_INIT;
    char text[1024];

    if (c.pid == 0)
        end_client(control_exec(t.state.path, "algo-1", command, &err), &err);
    serve_until_asked();
    control_close(TAKE(t.control));
    assert_int_equal(serve_until_dead(c, text), HOST_LOST);
    assert_non_null(strstr(text, "has ended"));
}

/* ---- strange clients ---- */

static int connect_raw(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/control.sock", t.state.path);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

static void send_raw(int fd, const char *bytes, size_t n, int streams)
{
    int fds[8] = {0, 1, 2, 0, 1, 2, 0, 1};
    char space[CMSG_SPACE(sizeof(fds))] = {0};
    struct iovec part = {(void *)bytes, n};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    size_t size = (size_t)streams * sizeof(int);

    if (streams) {
        struct cmsghdr *header = (struct cmsghdr *)(void *)space;

        message.msg_control = space;
        message.msg_controllen = CMSG_SPACE(size);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(size);
        memcpy(CMSG_DATA(header), fds, size);
    }
    assert_int_equal(sendmsg(fd, &message, MSG_NOSIGNAL), n);
}

static size_t open_descriptors(void)
{
    auto_strv struct strv names = {0};

    assert_int_equal(folder_list("/proc/self/fd", 100000, &names), 0);
    return names.n;
}

static void test_bad_requests_are_refused_and_leave_nothing_open(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t n;
        int streams;
    } cases[] = {
        {"dance",                 6,  0},
        {"exec",                  5,  0},
        {"exec\0algo-1\0ls",      15, 0},
        {"exec\0algo-1\0ls",      15, 2},
        {"exec\0algo-1",          12, 3},
        {"exec\0algo-1",          12, 4},
        {"fault",                 6,  3},
        {"fault\0kill:algo-1\0x", 20, 1},
        {"\0",                    1,  0},
        {"no end",                6,  8},
    };
    size_t before = open_descriptors();

    assert_int_equal(uv_timer_start(&t.limit, on_limit, LIMIT_MS, 0), 0);
    for (size_t i = 0; i < LENGTH(cases); i++) {
        int fd = connect_raw();
        char text[1024] = "";
        ssize_t n;

        send_raw(fd, cases[i].bytes, cases[i].n, cases[i].streams);
        while ((n = recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT)) < 0 && errno == EAGAIN)
            (void)uv_run(&t.loop, UV_RUN_ONCE);
        assert_true(n > 0);
        assert_string_not_equal(text, "done");
        (void)close(fd);
    }
    (void)uv_timer_stop(&t.limit);
    (void)uv_run(&t.loop, UV_RUN_NOWAIT);
    assert_int_equal(open_descriptors(), before);
    assert_string_equal(buf_text(&t.asked), "");
}

static void test_too_long_a_request_is_refused(void **state)
{
    (void)state;
    auto_free char *bytes = mem_zero(80000);
    char text[1024] = "";
    int fd = connect_raw();

    memset(bytes, 'x', 79999);
    memcpy(bytes, "fault\0kill:algo-1\0", 18);
    bytes[65535] = '\0';
    send_raw(fd, bytes, 80000, 0);
    assert_int_equal(uv_timer_start(&t.limit, on_limit, LIMIT_MS, 0), 0);
    while (recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT) < 0 && errno == EAGAIN)
        (void)uv_run(&t.loop, UV_RUN_ONCE);
    (void)uv_timer_stop(&t.limit);
    assert_non_null(strstr(text, "longer than 65536 bytes"));
    (void)close(fd);
}

#define with_server(test) cmocka_unit_test_setup_teardown(test, begin, finish)

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_server(test_a_command_has_the_clients_streams_and_gives_its_status),
        with_server(test_a_host_is_named_or_numbered),
        with_server(test_a_fault_reaches_the_rack),
        with_server(test_a_fault_that_cannot_be_is_refused_with_a_sentence),
        with_server(test_the_only_emulation_is_found),
        with_server(test_only_the_owner_may_connect),
        with_server(test_the_folder_may_have_a_long_name),
        with_server(test_a_long_command_is_refused),
        with_server(test_a_client_that_goes_leaves_its_command),
        with_server(test_a_client_is_told_that_the_emulation_has_ended),
        with_server(test_bad_requests_are_refused_and_leave_nothing_open),
        with_server(test_too_long_a_request_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
