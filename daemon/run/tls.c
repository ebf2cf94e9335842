/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "run/tls.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "run/peerkey.h"

#define TITLE    "serried1"
#define HOST_MAX 253
#define PIECE    ((size_t)4096) /* OpenSSL's own buffers grow to what is put in, and stay so */
#define IDENTITY (sizeof(TITLE) + 17 + HOST_MAX + 2)

static const unsigned char suite[] = {0x13, 0x01}; /* TLS_AES_128_GCM_SHA256 */

struct tls_context {
    SSL_CTX *ssl;
    unsigned char key[PEERKEY_SIZE];
    char tag[17];
    char identity[IDENTITY]; /* our own, as a client */
};

struct tls {
    SSL *ssl;
    BIO *in, *out; /* the connection's bytes; SSL's own */
    bool server, failed;
    bool stranger; /* server: the identity is not of this job */
    bool asked;    /* server: an identity of this job has come */
    enum tls_fault fault;
    char claims[HOST_MAX + 1];
};

/* ---- the key as a session ---------------------------------------------------------------------
 */

static SSL_SESSION *session_of(SSL *ssl, const struct tls_context *c)
{
    const SSL_CIPHER *cipher = SSL_CIPHER_find(ssl, suite);
    SSL_SESSION *session = cipher ? SSL_SESSION_new() : NULL;

    if (session && SSL_SESSION_set1_master_key(session, c->key, sizeof(c->key)) == 1 &&
        SSL_SESSION_set_cipher(session, cipher) == 1 &&
        SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION) == 1)
        return session;
    SSL_SESSION_free(session);
    return NULL;
}

static int use_session(SSL *ssl, const EVP_MD *md, const unsigned char **id, size_t *n,
                       SSL_SESSION **out)
{
    const struct tls_context *c = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));

    (void)md; /* the suite is the only one, and so is its digest */
    *out = session_of(ssl, c);
    *id = (const unsigned char *)c->identity;
    *n = strlen(c->identity);
    return *out != NULL;
}

/* "serried1 TAG HOST"; false: not of our kind. */
static bool read_identity(const unsigned char *id, size_t n, char tag[17], char host[HOST_MAX + 1])
{
    char text[IDENTITY];
    int end = 0;

    if (n >= sizeof(text) || memchr(id, '\0', n))
        return false;
    memcpy(text, id, n);
    text[n] = '\0';
    return sscanf(text, TITLE " %16[0-9a-f] %253[A-Za-z0-9._-]%n", tag, host, &end) == 2 &&
           (size_t)end == n;
}

static int find_session(SSL *ssl, const unsigned char *id, size_t n, SSL_SESSION **out)
{
    const struct tls_context *c = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));
    struct tls *t = SSL_get_app_data(ssl);
    char tag[17], host[HOST_MAX + 1];

    *out = NULL;
    if (!read_identity(id, n, tag, host))
        return 1; /* no session, so the handshake fails */
    memcpy(t->claims, host, sizeof(host));
    t->stranger = strcmp(tag, c->tag) != 0;
    t->asked = !t->stranger;
    if (t->asked)
        *out = session_of(ssl, c);
    return 1;
}

/* ---- context -----------------------------------------------------------------------------------
 */

static bool configure(SSL_CTX *ssl)
{
    SSL_CTX_set_verify(ssl, SSL_VERIFY_NONE, NULL);
    (void)SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_OFF);
    (void)SSL_CTX_set_mode(ssl, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                    SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    (void)SSL_CTX_set_options(ssl,
                              SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    SSL_CTX_set_psk_use_session_callback(ssl, use_session);
    SSL_CTX_set_psk_find_session_callback(ssl, find_session);
    return SSL_CTX_set_min_proto_version(ssl, TLS1_3_VERSION) == 1 &&
           SSL_CTX_set_max_proto_version(ssl, TLS1_3_VERSION) == 1 &&
           SSL_CTX_set_ciphersuites(ssl, "TLS_AES_128_GCM_SHA256") == 1 &&
           SSL_CTX_set1_groups_list(ssl, "X25519:P-256") == 1 &&
           SSL_CTX_set_num_tickets(ssl, 0) == 1;
}

struct tls_context *tls_context_new(const struct peerkey *key, const char *host)
{
    struct tls_context *c = mem_zero(sizeof(*c));

    memcpy(c->key, key->bytes, sizeof(c->key));
    memcpy(c->tag, key->tag, sizeof(c->tag));
    (void)snprintf(c->identity, sizeof(c->identity), "%s %s %.*s", TITLE, key->tag, HOST_MAX, host);
    c->ssl = SSL_CTX_new(TLS_method());
    if (!c->ssl || !configure(c->ssl)) {
        tls_context_free(c);
        return NULL;
    }
    SSL_CTX_set_app_data(c->ssl, c);
    return c;
}

void tls_context_free(struct tls_context *c)
{
    if (!c)
        return;
    SSL_CTX_free(c->ssl);
    OPENSSL_cleanse(c, sizeof(*c));
    free(c);
}

/* ---- one connection ----------------------------------------------------------------------------
 */

struct tls *tls_new(struct tls_context *c, bool server)
{
    struct tls *t = mem_zero(sizeof(*t));

    t->server = server;
    t->ssl = mem_check(SSL_new(c->ssl));
    t->in = mem_check(BIO_new(BIO_s_mem()));
    t->out = mem_check(BIO_new(BIO_s_mem()));
    SSL_set_app_data(t->ssl, t);
    SSL_set_bio(t->ssl, t->in, t->out);
    if (server)
        SSL_set_accept_state(t->ssl);
    else
        SSL_set_connect_state(t->ssl);
    return t;
}

void tls_free(struct tls *t)
{
    if (!t)
        return;
    SSL_free(t->ssl);
    free(t);
}

/* A server that knows no identity of ours and has no certificate says handshake_failure; one whose
 * key does not fit the binder says illegal_parameter (OpenSSL) or decrypt_error (RFC 8446). */
static enum tls_fault fault_of(const struct tls *t, unsigned long error)
{
    if (t->server)
        return t->stranger ? TLS_WRONG_JOB : t->asked ? TLS_WRONG_KEY : TLS_RUBBISH;
    switch (ERR_GET_REASON(error)) {
    case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE:
    case SSL_AD_REASON_OFFSET + SSL_AD_UNKNOWN_PSK_IDENTITY:
        return TLS_WRONG_JOB;
    case SSL_R_SSLV3_ALERT_ILLEGAL_PARAMETER:
    case SSL_R_TLSV1_ALERT_DECRYPT_ERROR:
        return TLS_WRONG_KEY;
    default:
        return TLS_RUBBISH;
    }
}

static int fail(struct tls *t)
{
    unsigned long error = ERR_peek_error();

    if (!t->failed)
        t->fault = SSL_is_init_finished(t->ssl) ? TLS_RUBBISH : fault_of(t, error);
    t->failed = true;
    ERR_clear_error();
    return -EPROTO;
}

/* What SSL wants to send. */
static void flush(struct tls *t, struct buf *wire)
{
    char chunk[PIECE];
    int n;

    while ((n = BIO_read(t->out, chunk, sizeof(chunk))) > 0)
        buf_add(wire, chunk, (size_t)n);
}

static int finish(struct tls *t, int rc, struct buf *wire)
{
    int why = SSL_get_error(t->ssl, rc);

    if (rc > 0 || why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE) {
        flush(t, wire);
        return 0;
    }
    rc = fail(t);
    flush(t, wire);
    return rc;
}

int tls_start(struct tls *t, struct buf *wire)
{
    ERR_clear_error();
    return finish(t, SSL_do_handshake(t->ssl), wire);
}

/* Decrypts all that is there. */
static int take_plain(struct tls *t, struct buf *plain)
{
    char chunk[PIECE];
    int n;

    while ((n = SSL_read(t->ssl, chunk, sizeof(chunk))) > 0)
        buf_add(plain, chunk, (size_t)n);
    return n;
}

static int receive(struct tls *t, const char *piece, size_t n, struct buf *plain, struct buf *wire)
{
    int rc;

    ERR_clear_error();
    if (BIO_write(t->in, piece, (int)n) != (int)n)
        return fail(t);
    if (!SSL_is_init_finished(t->ssl)) {
        rc = SSL_do_handshake(t->ssl);
        if (rc != 1)
            return finish(t, rc, wire);
        if (!SSL_session_reused(t->ssl))
            return fail(t); /* it has a certificate, which anybody can make, and not the key */
    }
    return finish(t, take_plain(t, plain), wire);
}

int tls_receive(struct tls *t, const void *bytes, size_t n, struct buf *plain, struct buf *wire)
{
    const char *at = bytes;
    int rc = t->failed ? -EPROTO : 0;

    while (n && !rc) {
        size_t piece = n < PIECE ? n : PIECE;

        rc = receive(t, at, piece, plain, wire);
        at += piece;
        n -= piece;
    }
    return rc;
}

int tls_send(struct tls *t, const void *bytes, size_t n, struct buf *wire)
{
    const char *at = bytes;

    if (t->failed || !SSL_is_init_finished(t->ssl))
        return -EPROTO;
    ERR_clear_error();
    while (n) {
        int rc = SSL_write(t->ssl, at, n < PIECE ? (int)n : (int)PIECE);

        if (rc <= 0)
            return finish(t, rc, wire) < 0 ? -EPROTO : -EAGAIN;
        at += rc;
        n -= (size_t)rc;
        flush(t, wire);
    }
    return 0;
}

bool tls_is_open(const struct tls *t)
{
    return !t->failed && SSL_is_init_finished(t->ssl);
}

enum tls_fault tls_fault(const struct tls *t)
{
    return t->fault;
}

const char *tls_claims(const struct tls *t)
{
    return t->claims;
}
