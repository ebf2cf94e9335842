/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "run/peerkey.h"
#include "run/tls.h"

#define PUMP_MAX 20

static const struct peerkey ours = {
    .bytes = {1, 2, 3},
      .tag = "0123456789abcdef"
};

struct end {
    struct tls_context *context;
    struct tls *tls;
    struct buf plain, wire;
    int rc;
};

struct pair {
    struct end client, server;
};

static struct end new_end(const struct peerkey *key, const char *host, bool server)
{
    struct end e = {.context = tls_context_new(key, host)};

    assert_non_null(e.context);
    e.tls = tls_new(e.context, server);
    return e;
}

static void end_done(struct end *e)
{
    tls_free(e->tls);
    tls_context_free(e->context);
    buf_done(&e->plain);
    buf_done(&e->wire);
}

/* What one has to send, in pieces of `piece` bytes. */
static bool carry(struct end *from, struct end *to, size_t piece)
{
    struct buf bytes = from->wire;

    from->wire = (struct buf){0};
    for (size_t at = 0; at < bytes.len && to->rc == 0; at += piece) {
        size_t n = bytes.len - at < piece ? bytes.len - at : piece;

        to->rc = tls_receive(to->tls, bytes.data + at, n, &to->plain, &to->wire);
    }
    buf_done(&bytes);
    return to->wire.len > 0;
}

static struct pair shake_hands(const struct peerkey *client, const struct peerkey *server,
                               size_t piece)
{
    struct pair p = {new_end(client, "algo-2", false), new_end(server, "algo-1", true)};

    assert_int_equal(tls_start(p.client.tls, &p.client.wire), 0);
    for (int i = 0; i < PUMP_MAX; i++) {
        bool more = carry(&p.client, &p.server, piece);

        if (!carry(&p.server, &p.client, piece) && !more && !p.client.wire.len)
            break;
    }
    return p;
}

static void pair_done(struct pair *p)
{
    end_done(&p->client);
    end_done(&p->server);
}

static void test_tls_two_with_the_same_key_understand_each_other(void **state)
{
    static const size_t pieces[] = {1, 7, 100000};

    (void)state;
    for (size_t i = 0; i < LENGTH(pieces); i++) {
        struct pair p = shake_hands(&ours, &ours, pieces[i]);

        assert_true(tls_is_open(p.client.tls) && tls_is_open(p.server.tls));
        assert_string_equal(tls_claims(p.server.tls), "algo-2");
        assert_int_equal(tls_send(p.client.tls, "hello", 5, &p.client.wire), 0);
        assert_null(memmem(p.client.wire.data, p.client.wire.len, "hello", 5));
        (void)carry(&p.client, &p.server, pieces[i]);
        assert_string_equal(buf_text(&p.server.plain), "hello");
        assert_int_equal(tls_send(p.server.tls, "good day", 8, &p.server.wire), 0);
        (void)carry(&p.server, &p.client, pieces[i]);
        assert_string_equal(buf_text(&p.client.plain), "good day");
        pair_done(&p);
    }
}

static void test_tls_a_long_message_arrives_whole(void **state)
{
    struct pair p = shake_hands(&ours, &ours, 100000);
    size_t n = (size_t)1 << 20;
    auto_free char *text = malloc(n);

    (void)state;
    memset(text, 'x', n);
    assert_int_equal(tls_send(p.client.tls, text, n, &p.client.wire), 0);
    (void)carry(&p.client, &p.server, 5000);
    assert_int_equal(p.server.plain.len, n);
    assert_memory_equal(p.server.plain.data, text, n);
    pair_done(&p);
}

static void test_tls_another_key_is_told_from_another_job(void **state)
{
    struct peerkey key = ours, job = ours;
    struct pair p;

    (void)state;
    key.bytes[0] ^= 1;
    p = shake_hands(&key, &ours, 100000);
    assert_false(tls_is_open(p.client.tls) || tls_is_open(p.server.tls));
    assert_int_equal(tls_fault(p.server.tls), TLS_WRONG_KEY);
    assert_int_equal(tls_fault(p.client.tls), TLS_WRONG_KEY);
    assert_string_equal(tls_claims(p.server.tls), "algo-2");
    pair_done(&p);
    job.tag[0] = 'f';
    p = shake_hands(&job, &ours, 100000);
    assert_false(tls_is_open(p.client.tls) || tls_is_open(p.server.tls));
    assert_int_equal(tls_fault(p.server.tls), TLS_WRONG_JOB);
    assert_int_equal(tls_fault(p.client.tls), TLS_WRONG_JOB);
    pair_done(&p);
}

static void test_tls_rubbish_ends_the_connection(void **state)
{
    static const char *const texts[] = {"GET / HTTP/1.0\r\n\r\n", "\x16\x03\x01\xff\xff\xff\xff",
                                        "SSH-2.0-OpenSSH_9.2\r\n", "\x80\x2e\x01\x00\x02"};

    (void)state;
    for (size_t i = 0; i < LENGTH(texts); i++) {
        struct end server = new_end(&ours, "algo-1", true);
        char bytes[20000];

        memset(bytes, 'z', sizeof(bytes));
        memcpy(bytes, texts[i], strlen(texts[i]));
        assert_int_equal(tls_receive(server.tls, bytes, sizeof(bytes), &server.plain, &server.wire),
                         -EPROTO);
        assert_int_equal(tls_fault(server.tls), TLS_RUBBISH);
        assert_int_equal(tls_receive(server.tls, bytes, sizeof(bytes), &server.plain, &server.wire),
                         -EPROTO);
        assert_int_equal(server.plain.len, 0);
        end_done(&server);
    }
}

static void test_tls_a_byte_that_was_changed_ends_the_connection(void **state)
{
    struct pair p = shake_hands(&ours, &ours, 100000);

    (void)state;
    assert_int_equal(tls_send(p.client.tls, "hello", 5, &p.client.wire), 0);
    p.client.wire.data[p.client.wire.len - 1] ^= 1;
    (void)carry(&p.client, &p.server, 100000);
    assert_int_equal(p.server.rc, -EPROTO);
    assert_int_equal(p.server.plain.len, 0);
    assert_false(tls_is_open(p.server.tls));
    pair_done(&p);
}

static void test_tls_says_nothing_before_the_handshake(void **state)
{
    struct end client = new_end(&ours, "algo-2", false);

    (void)state;
    assert_int_equal(tls_send(client.tls, "hello", 5, &client.wire), -EPROTO);
    assert_int_equal(client.wire.len, 0);
    end_done(&client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tls_two_with_the_same_key_understand_each_other),
        cmocka_unit_test(test_tls_a_long_message_arrives_whole),
        cmocka_unit_test(test_tls_another_key_is_told_from_another_job),
        cmocka_unit_test(test_tls_rubbish_ends_the_connection),
        cmocka_unit_test(test_tls_a_byte_that_was_changed_ends_the_connection),
        cmocka_unit_test(test_tls_says_nothing_before_the_handshake),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
