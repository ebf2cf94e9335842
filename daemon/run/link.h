/* SPDX-License-Identifier: Apache-2.0
 *
 * link - one connection to another daemon of the job: TCP, TLS, frames, messages.
 *
 * Knows nothing of hosts and their states. Bounded: LINK_OPEN_MS for the handshake, WIRE_FRAME_MAX
 * for a message, LINK_QUEUE_MAX of bytes that the other end does not read. A link that ends, for
 * whatever reason, says so once through on_closed and is freed by itself after that; link_close()
 * says nothing. */
#ifndef RUN_LINK_H
#define RUN_LINK_H
#include "core/wire.h"
#include "run/tls.h"

#include <stdint.h>
#include <sys/socket.h>
#include <uv.h>

#define LINK_OPEN_MS   5000
#define LINK_QUEUE_MAX ((size_t)4 << 20)

struct link;

struct link_calls {
    void (*on_open)(struct link *l); /* connected, and both know the key */
    /* The message is the callee's to wire_message_done(). It may close the link. */
    void (*on_message)(struct link *l, struct wire_message *m);
    /* errno-like `why` (-ECONNREFUSED, -ETIMEDOUT, -EPROTO, -EOF as UV_EOF, -ENOBUFS: does not
     * read, -EBADMSG) and for -EPROTO tls_fault. */
    void (*on_closed)(struct link *l, int why, enum tls_fault fault, const char *text);
};

/* Dials. `data` is link_data(). NULL: no memory for a socket (with a negative errno in *why). */
struct link *link_connect(uv_loop_t *loop, struct tls_context *tls, const struct sockaddr *address,
                          const struct link_calls *calls, void *data, int *why);
/* Takes over an accepted connection that waits in `listener`. */
struct link *link_accept(uv_stream_t *listener, struct tls_context *tls,
                         const struct link_calls *calls, void *data, int *why);
void *link_data(const struct link *l);
/* Queues; never blocks. After the link has closed: nothing happens. */
void link_send(struct link *l, const struct wire_message *m);
/* The same of a message that is a frame already, for many. */
void link_send_frame(struct link *l, const struct buf *frame);
/* Sends what is queued, as long as the other end takes it, LINK_OPEN_MS at most, then closes. */
void link_finish(struct link *l);
void link_close(struct link *l);               /* at once; NULL is fine */
uint64_t link_heard_ms(const struct link *l);  /* when the last byte came, CLOCK_MONOTONIC */
const char *link_claims(const struct link *l); /* tls_claims() */
/* Own address of the connection, and the other's; "" where unknown. */
void link_addresses(const struct link *l, char own[64], char other[64]);
#endif
