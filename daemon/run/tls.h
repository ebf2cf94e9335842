/* SPDX-License-Identifier: Apache-2.0
 *
 * tls - one end of a TLS 1.3 connection with a pre-shared key, without a socket: bytes go in, bytes
 * come out (OpenSSL over memory). The only file that includes OpenSSL, with run/peerkey.
 *
 * Source: RFC 8446; DESIGN: no certificates, no other version, no other key exchange than PSK with
 * ECDHE. */
#ifndef RUN_TLS_H
#define RUN_TLS_H
#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

struct peerkey;
struct tls;
struct tls_context;

/* Why a handshake failed, as far as one end can tell. */
enum tls_fault {
    TLS_FINE,
    TLS_WRONG_JOB, /* the other end does not know our job (its identity is another) */
    TLS_WRONG_KEY, /* the same job, another key */
    TLS_RUBBISH    /* whatever it is, it does not speak our protocol */
};

/* One per process and key. `job` and `host` go into the identity that a client shows in clear
 * ("serried1 JOBTAG HOST": JOBTAG is struct peerkey's tag). NULL: OpenSSL refuses.
 */
struct tls_context *tls_context_new(const struct peerkey *key, const char *host);
void tls_context_free(struct tls_context *c);

struct tls *tls_new(struct tls_context *c, bool server);
void tls_free(struct tls *t);
/* Bytes from the socket. Decrypted ones are appended to `plain` (bounded by the caller's reading),
 * bytes to send to `wire`. 0, or -EPROTO: the connection is over, tls_fault() says why; what is in
 * `wire` (an alert) may still be sent. */
int tls_receive(struct tls *t, const void *bytes, size_t n, struct buf *plain, struct buf *wire);
/* Encrypts; only once tls_is_open(). */
int tls_send(struct tls *t, const void *bytes, size_t n, struct buf *wire);
/* The client's first bytes. */
int tls_start(struct tls *t, struct buf *wire);
bool tls_is_open(const struct tls *t);
enum tls_fault tls_fault(const struct tls *t);
/* Server: the host that the client claims in its identity, "" before or without. Unproven until
 * tls_is_open(). */
const char *tls_claims(const struct tls *t);
#endif
