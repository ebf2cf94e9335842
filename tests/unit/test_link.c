/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "run/link.h"
#include "run/peerkey.h"

static const struct peerkey ours = {
    .bytes = {1, 2, 3},
      .tag = "0123456789abcdef"
};

/* One end of a link, and what it has seen. */
struct end {
    struct link *link;
    bool open, closed;
    size_t messages;
    int64_t last;
    int why;
    enum tls_fault fault;
};

static struct {
    uv_loop_t loop;
    uv_tcp_t listener;
    uv_timer_t limit;
    struct sockaddr_in address;
    struct tls_context *leader, *peer;
    struct end server, client;
    void (*on_server_message)(struct wire_message *m);
    bool late;
} t;

static void on_open(struct link *l)
{
    ((struct end *)link_data(l))->open = true;
}

static void on_message(struct link *l, struct wire_message *m)
{
    struct end *e = link_data(l);

    assert_true(e->open && !e->closed);
    e->messages++;
    e->last = m->time;
    if (e == &t.server && t.on_server_message)
        t.on_server_message(m);
    wire_message_done(m);
}

static void on_closed(struct link *l, int why, enum tls_fault fault, const char *text)
{
    struct end *e = link_data(l);

    assert_false(e->closed);
    assert_non_null(text);
    e->closed = true;
    e->why = why;
    e->fault = fault;
}

static const struct link_calls calls = {on_open, on_message, on_closed};

static void on_connection(uv_stream_t *listener, int status)
{
    int why;

    assert_int_equal(status, 0);
    t.server.link = link_accept(listener, t.leader, &calls, &t.server, &why);
    assert_non_null(t.server.link);
}

static void on_limit(uv_timer_t *timer)
{
    (void)timer;
    t.late = true;
}

static int set_up(void **state)
{
    int size = sizeof(t.address);

    (void)state;
    memset(&t, 0, sizeof(t));
    t.address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    t.leader = tls_context_new(&ours, "algo-1");
    t.peer = tls_context_new(&ours, "algo-2");
    (void)uv_loop_init(&t.loop);
    (void)uv_tcp_init(&t.loop, &t.listener);
    (void)uv_timer_init(&t.loop, &t.limit);
    (void)uv_timer_start(&t.limit, on_limit, 20000, 0);
    assert_int_equal(uv_tcp_bind(&t.listener, (struct sockaddr *)&t.address, 0), 0);
    assert_int_equal(uv_listen((uv_stream_t *)&t.listener, 16, on_connection), 0);
    assert_int_equal(uv_tcp_getsockname(&t.listener, (struct sockaddr *)&t.address, &size), 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    if (t.client.link && !t.client.closed)
        link_close(t.client.link);
    if (t.server.link && !t.server.closed)
        link_close(t.server.link);
    uv_close((uv_handle_t *)&t.listener, NULL);
    uv_close((uv_handle_t *)&t.limit, NULL);
    (void)uv_run(&t.loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&t.loop), 0);
    tls_context_free(t.leader);
    tls_context_free(t.peer);
    return 0;
}

static void run_until(const bool *done)
{
    while (!*done && !t.late)
        (void)uv_run(&t.loop, UV_RUN_ONCE);
    assert_false(t.late);
}

static void dial(struct tls_context *as)
{
    int why;

    t.client.link =
        link_connect(&t.loop, as, (struct sockaddr *)&t.address, &calls, &t.client, &why);
    assert_non_null(t.client.link);
}

static void meet(void)
{
    dial(t.peer);
    run_until(&t.client.open);
    run_until(&t.server.open);
}

static void send_ping(struct link *l, int64_t time)
{
    link_send(l, &(struct wire_message){.kind = WIRE_PING, .time = time});
}

static void test_link_messages_arrive_in_order(void **state)
{
    (void)state;
    meet();
    assert_string_equal(link_claims(t.server.link), "algo-2");
    for (int64_t i = 1; i <= 1000; i++)
        send_ping(t.client.link, i);
    while (t.server.messages < 1000 && !t.late)
        (void)uv_run(&t.loop, UV_RUN_ONCE);
    assert_int_equal(t.server.last, 1000);
    send_ping(t.server.link, 7);
    while (!t.client.messages && !t.late)
        (void)uv_run(&t.loop, UV_RUN_ONCE);
    assert_int_equal(t.client.last, 7);
}

static void test_link_nobody_there_is_refused(void **state)
{
    (void)state;
    uv_close((uv_handle_t *)&t.listener, NULL);
    (void)uv_run(&t.loop, UV_RUN_NOWAIT);
    dial(t.peer);
    run_until(&t.client.closed);
    assert_int_equal(t.client.why, -ECONNREFUSED);
    (void)uv_tcp_init(&t.loop, &t.listener); /* for the end of the test */
}

static void dial_with(const struct peerkey *key, enum tls_fault fault)
{
    struct tls_context *other = tls_context_new(key, "algo-2");

    dial(other);
    run_until(&t.client.closed);
    run_until(&t.server.closed);
    assert_int_equal(t.client.why, -EPROTO);
    assert_int_equal(t.server.why, -EPROTO);
    assert_int_equal(t.client.fault, fault);
    assert_int_equal(t.server.fault, fault);
    assert_false(t.client.open || t.server.open);
    tls_context_free(other);
}

static void test_link_another_key_is_known_on_both_ends(void **state)
{
    struct peerkey key = ours;

    (void)state;
    key.bytes[5] ^= 1;
    dial_with(&key, TLS_WRONG_KEY);
}

static void test_link_another_job_is_known_on_both_ends(void **state)
{
    struct peerkey key = ours;

    (void)state;
    key.bytes[5] ^= 1;
    key.tag[0] = 'f';
    dial_with(&key, TLS_WRONG_JOB);
}

static void test_link_what_was_said_before_a_good_bye_arrives(void **state)
{
    (void)state;
    meet();
    send_ping(t.server.link, 42);
    link_finish(t.server.link);
    run_until(&t.client.closed);
    assert_int_equal(t.client.last, 42);
    assert_int_equal(t.client.why, UV_EOF);
    run_until(&t.server.closed);
}

static void close_server(struct wire_message *m)
{
    (void)m;
    link_close(t.server.link);
    t.server.closed = true;
}

static void test_link_may_be_closed_by_who_gets_a_message(void **state)
{
    (void)state;
    meet();
    t.on_server_message = close_server;
    send_ping(t.client.link, 1);
    send_ping(t.client.link, 2);
    run_until(&t.client.closed);
    assert_int_equal(t.server.messages, 1);
}

/* The client's loop does not run: its end does not read. */
static void test_link_who_does_not_read_is_dropped(void **state)
{
    auto_free char *text = mem_zero(16001);
    struct wire_message m = {.kind = WIRE_END, .text = text};

    (void)state;
    meet();
    memset(text, 'x', 16000);
    for (int i = 0; i < 2000; i++)
        link_send(t.server.link, &m);
    run_until(&t.server.closed);
    assert_int_equal(t.server.why, -ENOBUFS);
}

/* A plain socket that says this. */
static int say(const void *bytes, size_t n)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(connect(fd, (struct sockaddr *)&t.address, sizeof(t.address)), 0);
    assert_int_equal(send(fd, bytes, n, MSG_NOSIGNAL), n);
    return fd;
}

/* The server's end must close with this reason. */
static void stranger(const void *bytes, size_t n, bool hangs_up, int why, enum tls_fault fault)
{
    int fd = say(bytes, n);

    if (hangs_up)
        (void)close(fd);
    run_until(&t.server.closed);
    if (!hangs_up)
        (void)close(fd);
    assert_int_equal(t.server.why, why);
    assert_int_equal(t.server.fault, fault);
    assert_false(t.server.open);
}

static void test_link_a_strangers_rubbish_ends_it(void **state)
{
    static const char rubbish[70000] = "GET / HTTP/1.0\r\n\r\n";

    (void)state;
    stranger(rubbish, sizeof(rubbish), false, -EPROTO, TLS_RUBBISH);
}

static void test_link_a_stranger_that_leaves_at_once_is_nobody(void **state)
{
    (void)state;
    stranger("", 0, true, UV_EOF, TLS_FINE);
}

static void test_link_half_a_handshake_is_nobody(void **state)
{
    struct tls *tls = tls_new(t.peer, false);
    auto_buf struct buf hello = {0};

    (void)state;
    assert_int_equal(tls_start(tls, &hello), 0);
    stranger(hello.data, hello.len / 2, true, UV_EOF, TLS_FINE);
    tls_free(tls);
}

/* Somebody who has the key, and says what is no message. */
static void no_message(const void *bytes, size_t n)
{
    struct tls *tls = tls_new(t.peer, false);
    auto_buf struct buf wire = {0}, plain = {0};
    char answer[4096];
    int fd;

    assert_int_equal(tls_start(tls, &wire), 0);
    fd = say(wire.data, wire.len);
    buf_clear(&wire);
    while (!tls_is_open(tls) && !t.late) {
        ssize_t got = recv(fd, answer, sizeof(answer), MSG_DONTWAIT);

        if (got > 0)
            assert_int_equal(tls_receive(tls, answer, (size_t)got, &plain, &wire), 0);
        else
            (void)uv_run(&t.loop, UV_RUN_ONCE);
    }
    assert_int_equal(tls_send(tls, bytes, n, &wire), 0);
    assert_int_equal(send(fd, wire.data, wire.len, MSG_NOSIGNAL), wire.len);
    run_until(&t.server.closed);
    assert_true(t.server.open);
    assert_int_equal(t.server.why, -EBADMSG);
    assert_int_equal(t.server.messages, 0);
    (void)close(fd);
    tls_free(tls);
}

static void test_link_a_giant_message_ends_it_at_its_length(void **state)
{
    (void)state;
    no_message("\x7f\xff\xff\xff", 4);
}

static void test_link_an_empty_message_ends_it(void **state)
{
    (void)state;
    no_message("\0\0\0", 4);
}

static void test_link_what_is_no_message_ends_it(void **state)
{
    (void)state;
    no_message("\0\0\0\5hello", 9);
}

static void test_link_silence_has_a_limit(void **state)
{
    (void)state;
    stranger("\x16\x03\x01", 3, false, -ETIMEDOUT, TLS_FINE);
}

static void test_link_knows_its_addresses(void **state)
{
    char own[64], other[64];

    (void)state;
    meet();
    link_addresses(t.client.link, own, other);
    assert_string_equal(own, "127.0.0.1");
    assert_string_equal(other, "127.0.0.1");
    assert_true(link_heard_ms(t.client.link) > 0);
}

#define link_test(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        link_test(test_link_messages_arrive_in_order),
        link_test(test_link_nobody_there_is_refused),
        link_test(test_link_another_key_is_known_on_both_ends),
        link_test(test_link_another_job_is_known_on_both_ends),
        link_test(test_link_what_was_said_before_a_good_bye_arrives),
        link_test(test_link_may_be_closed_by_who_gets_a_message),
        link_test(test_link_who_does_not_read_is_dropped),
        link_test(test_link_a_strangers_rubbish_ends_it),
        link_test(test_link_a_stranger_that_leaves_at_once_is_nobody),
        link_test(test_link_half_a_handshake_is_nobody),
        link_test(test_link_a_giant_message_ends_it_at_its_length),
        link_test(test_link_an_empty_message_ends_it),
        link_test(test_link_what_is_no_message_ends_it),
        link_test(test_link_silence_has_a_limit),
        link_test(test_link_knows_its_addresses),
    };

    (void)alarm(60);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
