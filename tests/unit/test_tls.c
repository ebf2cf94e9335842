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

#include <openssl/ssl.h>
#include <openssl/x509.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/mem.h"
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
    auto_free char *text = mem_zero(n);

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

/* A server of another kind: it has no key of ours, and a certificate that it made for itself. */
static SSL *new_foreigner(void)
{
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *certificate = X509_new();
    SSL *ssl;

    (void)X509_gmtime_adj(X509_getm_notBefore(certificate), 0);
    (void)X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
    assert_int_equal(X509_set_pubkey(certificate, key), 1);
    assert_true(X509_sign(certificate, key, EVP_sha256()) > 0);
    assert_int_equal(SSL_CTX_use_certificate(context, certificate), 1);
    assert_int_equal(SSL_CTX_use_PrivateKey(context, key), 1);
    ssl = SSL_new(context);
    SSL_set_bio(ssl, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    SSL_set_accept_state(ssl);
    X509_free(certificate);
    EVP_PKEY_free(key);
    SSL_CTX_free(context);
    return ssl;
}

static void test_tls_a_certificate_is_no_proof_of_the_key(void **state)
{
    struct end client = new_end(&ours, "algo-2", false);
    SSL *server = new_foreigner();
    char bytes[8192];
    int n;

    (void)state;
    assert_int_equal(tls_start(client.tls, &client.wire), 0);
    assert_int_equal(BIO_write(SSL_get_rbio(server), client.wire.data, (int)client.wire.len),
                     client.wire.len);
    (void)SSL_do_handshake(server);
    n = BIO_read(SSL_get_wbio(server), bytes, sizeof(bytes));
    assert_true(n > 500); /* its whole answer, and no alert */
    assert_int_equal(tls_receive(client.tls, bytes, (size_t)n, &client.plain, &client.wire),
                     -EPROTO);
    assert_int_equal(tls_fault(client.tls), TLS_RUBBISH);
    assert_false(tls_is_open(client.tls));
    assert_int_equal(tls_send(client.tls, "hello", 5, &client.wire), -EPROTO);
    SSL_free(server);
    end_done(&client);
}

/* A client of another kind. */
static void refuse_client(int version)
{
    struct end server = new_end(&ours, "algo-1", true);
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    char bytes[8192];
    SSL *ssl;
    int n;

    assert_int_equal(SSL_CTX_set_max_proto_version(context, version), 1);
    ssl = SSL_new(context);
    SSL_set_bio(ssl, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    SSL_set_connect_state(ssl);
    (void)SSL_do_handshake(ssl);
    n = BIO_read(SSL_get_wbio(ssl), bytes, sizeof(bytes));
    assert_true(n > 0);
    assert_int_equal(tls_receive(server.tls, bytes, (size_t)n, &server.plain, &server.wire),
                     -EPROTO);
    assert_int_equal(tls_fault(server.tls), TLS_RUBBISH);
    assert_string_equal(tls_claims(server.tls), "");
    assert_in_range(server.wire.len, 1, 100); /* an alert, no more */
    SSL_free(ssl);
    SSL_CTX_free(context);
    end_done(&server);
}

static void test_tls_a_client_without_our_key_is_refused(void **state)
{
    (void)state;
    refuse_client(TLS1_3_VERSION);
    refuse_client(TLS1_2_VERSION);
}

static void test_tls_rubbish_from_a_server_is_known_as_such(void **state)
{
    static const char text[] = "HTTP/1.1 400 Bad Request\r\n\r\n";
    struct end client = new_end(&ours, "algo-2", false);

    (void)state;
    assert_int_equal(tls_start(client.tls, &client.wire), 0);
    assert_int_equal(tls_receive(client.tls, text, sizeof(text), &client.plain, &client.wire),
                     -EPROTO);
    assert_int_equal(tls_fault(client.tls), TLS_RUBBISH);
    end_done(&client);
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
        cmocka_unit_test(test_tls_a_certificate_is_no_proof_of_the_key),
        cmocka_unit_test(test_tls_a_client_without_our_key_is_refused),
        cmocka_unit_test(test_tls_rubbish_from_a_server_is_known_as_such),
        cmocka_unit_test(test_tls_rubbish_ends_the_connection),
        cmocka_unit_test(test_tls_a_byte_that_was_changed_ends_the_connection),
        cmocka_unit_test(test_tls_says_nothing_before_the_handshake),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
