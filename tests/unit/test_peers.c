/* SPDX-License-Identifier: Apache-2.0
 *
 * Hosts are processes on addresses of the loopback interface; a host's name is its address. Each
 * tells what happens to it through a pipe, one word or sentence after the other. */
#include "config.h"

#include "run/peers.h"

#include "procs.h"

#include "base/json.h"

#include "made.h"

#include "base/log.h"
#include "core/redact.h"
#include "core/testimony.h"
#include "core/verdict.h"
#include "input/inputs.h"
#include "run/events.h"

#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#define HOSTS_MAX 4
#define SAID_MAX  4096
#define MEET_S    30 /* limits that no test reaches, but where it is about them */
#define SILENCE_S 15.0

/* ACT_WORK goes on until it is told to end. */
enum act { ACT_NOTHING, ACT_FAIL, ACT_STOP, ACT_DIE, ACT_FREEZE, ACT_WORK };

/* What a host does. */
struct script {
    bool absent;
    enum act at_open;      /* beside getting ready */
    enum act at_start;     /* beside reporting that its rank has ended well */
    int as;                /* has the name of this host, from 1 on; 0: its own */
    const char *variables; /* of its environment */
    const char *program;   /* "train.py"; another one disagrees */
    const char *hosts;     /* its own list, or NULL */
    bool late;             /* gets ready when told to, by hosts_go() */
};

static struct {
    unsigned port;
    int meet_s;
    double silence_s;
    int n;
    struct script scripts[HOSTS_MAX];
    pid_t pids[HOSTS_MAX];
    int said[HOSTS_MAX], go[HOSTS_MAX];
    char text[HOSTS_MAX][SAID_MAX];
} t;

/* ---- a host -----------------------------------------------------------------------------------
 */

static struct {
    uv_loop_t loop;
    struct inputs in;
    const struct script *script;
    int out;
    bool works, told, closed;
    uv_poll_t go;
} h;

static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void say(const char *format, ...)
{
    auto_free char *text = NULL;
    va_list args;

    va_start(args, format);
    text = mem_vprintf(format, args);
    va_end(args);
    insist(dprintf(h.out, "%s\n", text) > 0);
}

static void log_line_out(void *data, const char *line, size_t n)
{
    (void)data;
    insist(write(h.out, line, n) == (ssize_t)n);
}

static void tell(void)
{
    const struct memory_facts memory = {0};
    const struct outcome outcome = {.started = true, .ended = true, .host = h.in.job->host};
    struct redact *redact = redact_new();

    if (!h.told)
        peers_report(testimony_json(&outcome, 1, &memory, redact));
    h.told = true;
    redact_free(redact);
}

static void act(enum act what)
{
    switch (what) {
    case ACT_NOTHING:
        break;
    case ACT_FAIL:
        peers_end(false, "it has failed");
        tell();
        break;
    case ACT_STOP:
        peers_end(true, "it was stopped");
        tell();
        break;
    case ACT_DIE:
        (void)raise(SIGKILL);
        break;
    case ACT_FREEZE:
        (void)raise(SIGSTOP);
        break;
    case ACT_WORK:
        h.works = true;
        break;
    }
}

static void close_host(void)
{
    if (h.closed)
        return;
    h.closed = true;
    peers_close();
    events_close();
    if (uv_is_active((uv_handle_t *)&h.go))
        (void)uv_poll_stop(&h.go);
    uv_close((uv_handle_t *)&h.go, NULL);
}

static void say_start(const struct peers_news *news)
{
    auto_buf struct buf numbers = {0};

    json_write(&numbers, news->message.body);
    say("start on %s", news->interface);
    say("with %s", buf_text(&numbers));
}

static void judge(void)
{
    size_t n;
    auto_free struct outcome *outcomes = peers_outcomes(&n);
    struct wire_message verdict = {.kind = WIRE_VERDICT,
                                   .status = 42,
                                   .rank = -1,
                                   .text = (char *)"failed",
                                   .summary = (char *)"it has failed"};

    for (size_t i = 0; i < n; i++)
        say(outcomes[i].lost ? "%s%s lost: %s" : "%s%s told", outcomes[i].leader ? "leader " : "",
            outcomes[i].host, outcomes[i].lost);
    say("reported");
    verdict.body = cJSON_CreateObject();
    peers_verdict(&verdict);
    cJSON_Delete(verdict.body);
    close_host();
}

static void on_peers(enum peers_event event, struct peers_news *news)
{
    switch (event) {
    case PEERS_START:
        say_start(news);
        act(h.script->at_start);
        if (!h.works)
            tell();
        break;
    case PEERS_END:
        say("end%s: %s", news->message.stopped ? " on request" : "", news->message.text);
        tell();
        break;
    case PEERS_FAULT:
        say("fault of %s: %s", err_blame_name(news->fault.blame), news->fault.text);
        peers_end(false, news->fault.text);
        tell();
        break;
    case PEERS_GONE:
        break;
    case PEERS_REPORTED:
        judge();
        break;
    case PEERS_VERDICT:
        say("verdict %ld %s", news->message.status, news->message.text);
        close_host();
        break;
    }
    peers_news_free(news);
}

static void handle(const struct event *event)
{
    insist(event->kind == EV_PEERS);
    on_peers((enum peers_event)event->value, event->target);
}

static void settled(void)
{
}

static void on_go(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    (void)uv_poll_stop(poll);
    peers_ready();
}

static char *list_hosts(void)
{
    auto_strv struct strv hosts = {0};

    for (int i = 0; i < t.n; i++)
        strv_addf(&hosts, "\"127.77.0.%d\"", i + 1);
    return strv_join(&hosts, ", ");
}

__attribute__((noreturn)) static void run_host(int i, const struct script *script, int out, int go)
{
    auto_free char *all = list_hosts();
    auto_free char *resources =
        mem_printf("{\"current_host\": \"127.77.0.%d\", \"hosts\": [%s],"
                   " \"network_interface_name\": \"lo\"}",
                   script->as ? script->as : i + 1, script->hosts ? script->hosts : all);
    auto_free char *set =
        mem_printf("peer.port=%u peer.meet_limit_s=%d peer.heartbeat_s=0.1"
                   " peer.silence_s=%g stop.failure_grace_s=0",
                   t.port, t.meet_s ? t.meet_s : MEET_S, t.silence_s > 0 ? t.silence_s : SILENCE_S);
    struct made m = made_new(&(struct given){.resources = resources,
                                             .program = script->program,
                                             .variables = script->variables,
                                             .set = set});

    (void)alarm(60);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)signal(SIGPIPE, SIG_IGN); /* as run/signals does */
    h.script = script;
    h.out = out;
    log_to(log_line_out, NULL);
    h.in = (struct inputs){.job = m.job, .plan = m.plan, .settings = m.settings};
    m.job->facts.master_port = 7000 + (unsigned)i;
    insist(uv_loop_init(&h.loop) == 0);
    insist(events_open(&h.loop, handle, settled) == 0);
    insist(uv_poll_init(&h.loop, &h.go, go) == 0);
    peers_open(&h.loop, &h.in);
    act(script->at_open);
    if (script->late)
        insist(uv_poll_start(&h.go, UV_READABLE, on_go) == 0);
    else if (script->at_open == ACT_NOTHING)
        peers_ready();
    (void)uv_run(&h.loop, UV_RUN_DEFAULT);
    insist(uv_loop_close(&h.loop) == 0);
    peers_done();
    log_to(NULL, NULL);
    made_done(&m);
    cleanup_free(&all);
    cleanup_free(&resources);
    cleanup_free(&set);
    all = resources = set = NULL;
    say("gone");
    exit(0);
}

/* ---- the scene --------------------------------------------------------------------------------
 */

static unsigned free_port(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_ANY)}};
    socklen_t size = sizeof(at);
    auto_fd int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(bind(fd, (struct sockaddr *)&at, size), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &size), 0);
    return ntohs(at.sin_port);
}

static void start_host(int i)
{
    int out[2], go[2];

    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    assert_int_equal(pipe2(go, O_CLOEXEC), 0);
    t.pids[i] = fork();
    assert_true(t.pids[i] >= 0);
    if (t.pids[i] == 0) {
        (void)close(out[0]);
        (void)close(go[1]);
        for (int k = 0; k < i; k++) {
            if (t.pids[k])
                (void)close(t.said[k]);
            if (t.pids[k])
                (void)close(t.go[k]);
        }
        run_host(i, &t.scripts[i], out[1], go[0]);
    }
    (void)close(out[1]);
    (void)close(go[0]);
    t.said[i] = out[0];
    t.go[i] = go[1];
}

/* Reads on until it has said a line that begins so. */
static void await_word(int i, const char *word)
{
    size_t used = strlen(t.text[i]);
    auto_free char *line = mem_printf("\n%s", word);

    while (!strstr(t.text[i], line)) {
        t.text[i][used] = read_byte(t.said[i]);
        t.text[i][++used] = '\0';
        assert_true(used < SAID_MAX - 1);
    }
}

static void start_hosts(int n)
{
    t.n = n;
    t.port = free_port();
    for (int i = 0; i < n; i++) {
        memcpy(t.text[i], "\n", 2);
        if (!t.scripts[i].absent)
            start_host(i);
    }
}

/* All that it says, and its exit status as waitpid() has it. */
static int finish_host(int i)
{
    size_t used = strlen(t.text[i]);
    int status;

    (void)read_to_end(t.said[i], t.text[i] + used, SAID_MAX - used);
    (void)close(t.go[i]);
    status = status_of(t.pids[i]);
    t.pids[i] = 0;
    return status;
}

static void finish_hosts(void)
{
    for (int i = 0; i < t.n; i++)
        if (t.pids[i])
            assert_int_equal(finish_host(i), 0);
}

static void assert_said(int i, const char *line)
{
    auto_free char *whole = mem_printf("\n%s\n", line);

    if (!strstr(t.text[i], whole))
        fail_msg("host %d did not say \"%s\" but:%s", i + 1, line, t.text[i]);
}

static void assert_silent_about(int i, const char *word)
{
    if (strstr(t.text[i], word))
        fail_msg("host %d said \"%s\":%s", i + 1, word, t.text[i]);
}

static int set_up(void **state)
{
    (void)state;
    memset(&t, 0, sizeof(t));
    return 0;
}

/* After a failed test. */
static int tear_down(void **state)
{
    (void)state;
    for (int i = 0; i < t.n; i++) {
        if (!t.pids[i])
            continue;
        (void)kill(t.pids[i], SIGKILL);
        (void)waitpid(t.pids[i], NULL, 0);
        (void)close(t.said[i]);
        (void)close(t.go[i]);
    }
    return 0;
}

/* ---- the tests --------------------------------------------------------------------------------
 */

static void test_all_start_and_get_the_verdict(void **state)
{
    (void)state;
    start_hosts(3);
    finish_hosts();
    for (int i = 0; i < 3; i++) {
        assert_said(i, "start on lo");
        assert_said(i, "with [1,7000,1,0,1,0]"); /* ranks; the leader's port */
        assert_silent_about(i, "end");
        assert_silent_about(i, "lost");
    }
    assert_said(0, "127.77.0.2 told");
    assert_said(0, "127.77.0.3 told");
    assert_said(1, "verdict 42 failed");
    assert_said(2, "verdict 42 failed");
}

static void test_nobody_starts_before_all_are_ready(void **state)
{
    (void)state;
    t.scripts[1].late = true;
    start_hosts(2);
    await_word(1, "serried: met leader");
    await_word(0, "serried: 2 hosts have met");
    assert_silent_about(0, "start");
    assert_int_equal(write(t.go[1], "g", 1), 1);
    finish_hosts();
    assert_said(0, "start on lo");
    assert_said(1, "verdict 42 failed");
}

static void test_failure_of_one_ends_all(void **state)
{
    (void)state;
    t.scripts[0].at_start = t.scripts[2].at_start = ACT_WORK;
    t.scripts[1].at_start = ACT_FAIL;
    start_hosts(3);
    finish_hosts();
    assert_said(0, "end: it has failed");
    assert_said(2, "end: it has failed");
    assert_silent_about(1, "end:");
    for (int i = 1; i < 3; i++)
        assert_said(i, "verdict 42 failed");
}

static void test_failure_of_the_leader_ends_all(void **state)
{
    (void)state;
    t.scripts[0].at_start = ACT_FAIL;
    t.scripts[1].at_start = ACT_WORK;
    start_hosts(2);
    finish_hosts();
    assert_silent_about(0, "end:");
    assert_said(1, "end: it has failed");
    assert_said(1, "verdict 42 failed");
}

static void test_failure_before_the_start_starts_nobody(void **state)
{
    (void)state;
    t.scripts[1].at_open = ACT_FAIL;
    start_hosts(3);
    finish_hosts();
    assert_said(0, "end: it has failed");
    for (int i = 0; i < 3; i++)
        assert_silent_about(i, "start on");
    assert_said(1, "verdict 42 failed");
}

static void test_host_that_comes_after_a_failure_is_told_of_it(void **state)
{
    (void)state;
    t.scripts[0].at_open = ACT_FAIL;
    t.scripts[1].absent = true;
    start_hosts(2);
    await_word(0, "serried: waiting for 127.77.0.2, to tell of the failure");
    start_host(1);
    finish_hosts();
    assert_said(1, "end: it has failed");
    assert_said(1, "verdict 42 failed");
    assert_said(0, "127.77.0.2 told");
}

static void test_stop_does_not_wait_for_hosts_that_are_absent(void **state)
{
    (void)state;
    t.scripts[0].at_open = ACT_STOP;
    t.scripts[1].absent = true;
    start_hosts(2);
    finish_hosts();
    assert_said(0, "reported");
}

static void test_stop_on_one_stops_all(void **state)
{
    (void)state;
    t.scripts[0].at_start = t.scripts[1].at_start = ACT_WORK;
    t.scripts[2].at_start = ACT_STOP;
    start_hosts(3);
    finish_hosts();
    for (int i = 0; i < 2; i++)
        assert_said(i, "end on request: it was stopped");
    assert_said(2, "verdict 42 failed");
}

static void test_killed_host_is_lost(void **state)
{
    (void)state;
    t.scripts[0].at_start = t.scripts[2].at_start = ACT_WORK;
    t.scripts[1].at_start = ACT_DIE;
    start_hosts(3);
    assert_int_equal(finish_host(1), SIGKILL);
    finish_hosts();
    assert_said(0, "end: host 127.77.0.2 is lost: connection closed");
    assert_said(0, "127.77.0.2 lost: connection closed");
    assert_said(0, "127.77.0.3 told");
    assert_said(2, "verdict 42 failed");
}

static void test_frozen_host_is_lost(void **state)
{
    (void)state;
    t.silence_s = 1.5;
    t.scripts[0].at_start = ACT_WORK;
    t.scripts[1].at_start = ACT_FREEZE;
    start_hosts(2);
    assert_int_equal(finish_host(0), 0);
    assert_said(0, "end: host 127.77.0.2 is lost: no sign of life for 1.5 s");
    assert_said(0, "127.77.0.2 lost: no sign of life for 1.5 s");
    (void)kill(t.pids[1], SIGCONT);
    finish_hosts();
    assert_said(1, "end: leader 127.77.0.1 is lost: connection closed");
    assert_said(1, "leader 127.77.0.1 lost: connection closed");
}

static void test_killed_leader_ends_all(void **state)
{
    (void)state;
    t.scripts[0].at_start = ACT_DIE;
    t.scripts[1].at_start = t.scripts[2].at_start = ACT_WORK;
    start_hosts(3);
    assert_int_equal(finish_host(0), SIGKILL);
    finish_hosts();
    for (int i = 1; i < 3; i++) {
        assert_said(i, "leader 127.77.0.1 lost: connection closed");
        assert_said(i, "reported");
    }
}

static void test_hosts_that_are_missing_are_named_by_all(void **state)
{
    (void)state;
    t.meet_s = 5;
    t.scripts[1].absent = true;
    start_hosts(3);
    finish_hosts();
    assert_said(0, "fault of host: missing after 5 s: 127.77.0.2 (connection refused)");
    assert_said(2, "end: missing after 5 s: 127.77.0.2 (connection refused)");
    assert_said(2, "verdict 42 failed");
    assert_said(0, "127.77.0.3 told");
}

static void test_missing_leader_is_named_by_all(void **state)
{
    (void)state;
    t.meet_s = 2;
    t.scripts[0].absent = true;
    start_hosts(3);
    finish_hosts();
    for (int i = 1; i < 3; i++) {
        assert_said(i, "fault of host: missing after 2 s: leader 127.77.0.1 (connection refused)");
        assert_said(i, "reported");
    }
}

static void test_leader_that_is_late_is_met(void **state)
{
    (void)state;
    t.scripts[0].absent = true;
    start_hosts(2);
    await_word(1, "serried: warning: no key");
    start_host(0);
    finish_hosts();
    assert_said(1, "verdict 42 failed");
}

static void test_hosts_that_disagree_do_not_start(void **state)
{
    (void)state;
    t.scripts[1].program = "other.py";
    start_hosts(3);
    finish_hosts();
    assert_non_null(strstr(t.text[0], "\nfault of configuration: "));
    assert_non_null(strstr(t.text[1], "\nfault of configuration: "));
    assert_non_null(strstr(t.text[0], "other.py"));
    assert_non_null(strstr(t.text[1], "other.py"));
    assert_silent_about(0, "start on");
}

/* Whom it comes to says so, and that ends the job for all. */
static void test_host_that_takes_another_for_the_leader_is_told(void **state)
{
    (void)state;
    t.meet_s = 2; /* the leader, which it never comes to, waits no longer */
    t.scripts[2].hosts = "\"127.77.0.2\", \"127.77.0.1\", \"127.77.0.3\"";
    start_hosts(3);
    finish_hosts();
    for (int i = 1; i < 3; i++)
        assert_non_null(strstr(t.text[i], "\nfault of configuration: resourceconfig.json: the "
                                          "leader: "));
}

static void test_host_with_another_key_is_not_let_in(void **state)
{
    (void)state;
    t.meet_s = 2;
    t.scripts[1].variables =
        "SERRIED_JOB_KEY=000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
    start_hosts(2);
    finish_hosts();
    assert_said(0, "fault of host: missing after 2 s: 127.77.0.2 (wrong key)");
    assert_said(1, "fault of host: missing after 2 s: leader 127.77.0.1 (wrong key)");
    assert_non_null(strstr(t.text[0], "which claims to be 127.77.0.2, has another key"));
}

static void test_second_host_of_a_name_is_refused(void **state)
{
    (void)state;
    t.scripts[0].late = true;
    t.scripts[2].as = 2;
    start_hosts(2);
    await_word(0, "serried: 2 hosts have met");
    memcpy(t.text[2], "\n", 2);
    start_host(2);
    await_word(2, "fault of configuration: 127.77.0.2 is here already");
    assert_int_equal(finish_host(2), 0);
    assert_int_equal(write(t.go[0], "g", 1), 1);
    finish_hosts();
    assert_said(0, "127.77.0.2 told");
    assert_said(1, "verdict 42 failed");
}

/* Each opens a connection and says nothing that anybody understands. */
static void test_strangers_do_not_keep_the_hosts_from_meeting(void **state)
{
    static const char words[] = "GET / HTTP/1.0\r\n\r\n";
    struct sockaddr_in at = {.sin_family = AF_INET};
    int fds[256];

    (void)state;
    t.scripts[1].absent = true;
    start_hosts(2);
    await_word(0, "serried: warning: no key");
    at.sin_port = htons((uint16_t)t.port);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK + (77 << 16));
    for (size_t i = 0; i < LENGTH(fds); i++) {
        fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        while (connect(fds[i], (struct sockaddr *)&at, sizeof(at)) < 0)
            (void)poll(NULL, 0, 5); /* it does not listen yet */
        if (i % 2)
            (void)!write(fds[i], words, sizeof(words));
    }
    start_host(1);
    finish_hosts();
    for (size_t i = 0; i < LENGTH(fds); i++)
        (void)close(fds[i]);
    assert_non_null(strstr(t.text[0], "127.0.0.1 does not speak our protocol"));
    assert_said(0, "127.77.0.2 told");
    assert_said(1, "verdict 42 failed");
}

#define peers_test(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        peers_test(test_all_start_and_get_the_verdict),
        peers_test(test_nobody_starts_before_all_are_ready),
        peers_test(test_failure_of_one_ends_all),
        peers_test(test_failure_of_the_leader_ends_all),
        peers_test(test_failure_before_the_start_starts_nobody),
        peers_test(test_host_that_comes_after_a_failure_is_told_of_it),
        peers_test(test_stop_does_not_wait_for_hosts_that_are_absent),
        peers_test(test_stop_on_one_stops_all),
        peers_test(test_killed_host_is_lost),
        peers_test(test_frozen_host_is_lost),
        peers_test(test_killed_leader_ends_all),
        peers_test(test_hosts_that_are_missing_are_named_by_all),
        peers_test(test_missing_leader_is_named_by_all),
        peers_test(test_leader_that_is_late_is_met),
        peers_test(test_hosts_that_disagree_do_not_start),
        peers_test(test_host_that_takes_another_for_the_leader_is_told),
        peers_test(test_host_with_another_key_is_not_let_in),
        peers_test(test_second_host_of_a_name_is_refused),
        peers_test(test_strangers_do_not_keep_the_hosts_from_meeting),
    };

    (void)alarm(180);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
