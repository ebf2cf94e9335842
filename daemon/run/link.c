/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "run/link.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"

#define READ_SIZE ((size_t)64 << 10)

enum link_state { LINK_CONNECTING, LINK_SHAKING_HANDS, LINK_OPEN, LINK_FINISHING, LINK_ENDED };

struct link {
    uv_tcp_t tcp;
    uv_timer_t timer; /* for the handshake; for good-byes; 0: to tell of a fault from the loop */
    uv_connect_t connect;
    uv_shutdown_t shutdown;
    unsigned handles; /* still to be closed */
    enum link_state state;
    struct tls *tls;
    struct link_calls calls;
    void *data;
    struct buf plain;   /* decrypted, maybe half a frame */
    struct buf pending; /* encrypted, behind the write under way */
    size_t under_way;   /* bytes of that one; 0: none */
    bool hung_up;       /* our end has been shut down */
    int fault;          /* to be told by the timer; 0: none */
    uint64_t heard_ms;
};

struct write {
    uv_write_t request;
    struct buf bytes;
};

/* ---- the end -----------------------------------------------------------------------------------
 */

static void on_handle_closed(uv_handle_t *handle)
{
    struct link *l = handle->data;

    if (--l->handles)
        return;
    tls_free(l->tls);
    buf_done(&l->plain);
    buf_done(&l->pending);
    free(l);
}

void link_close(struct link *l)
{
    if (!l || l->state == LINK_ENDED)
        return;
    l->state = LINK_ENDED;
    uv_close((uv_handle_t *)&l->tcp, on_handle_closed);
    uv_close((uv_handle_t *)&l->timer, on_handle_closed);
}

static void end(struct link *l, int why, const char *text)
{
    enum tls_fault fault = why == -EPROTO ? tls_fault(l->tls) : TLS_FINE;

    if (l->state == LINK_ENDED)
        return;
    link_close(l);
    l->calls.on_closed(l, why, fault, text);
}

static void on_timer(uv_timer_t *timer)
{
    struct link *l = timer->data;

    if (l->fault)
        end(l, l->fault, uv_strerror(l->fault));
    else if (l->state == LINK_FINISHING)
        end(l, UV_EOF, "closed");
    else
        end(l, -ETIMEDOUT, "no answer");
}

static void arm(struct link *l, uint64_t ms)
{
    uv_update_time(l->timer.loop);
    (void)uv_timer_start(&l->timer, on_timer, ms, 0);
}

/* From within a call of ours: the caller hears of it later. */
static void fail_later(struct link *l, int why)
{
    if (l->fault || l->state == LINK_ENDED)
        return;
    l->fault = why;
    arm(l, 0);
}

/* ---- writing ------------------------------------------------------------------------------------
 */

static void flush(struct link *l);

static void on_shutdown(uv_shutdown_t *request, int status)
{
    (void)request;
    (void)status; /* the other end closes, or the timer has the last word */
}

/* All has been sent: the other end is to see that no more comes. */
static void hang_up(struct link *l)
{
    if (l->hung_up)
        return;
    l->hung_up = true;
    if (uv_shutdown(&l->shutdown, (uv_stream_t *)&l->tcp, on_shutdown) < 0)
        fail_later(l, UV_EOF);
}

static void on_written(uv_write_t *request, int status)
{
    struct write *w = request->data;
    struct link *l = request->handle->data;

    buf_done(&w->bytes);
    free(w);
    l->under_way = 0;
    if (l->state == LINK_ENDED)
        return;
    if (status < 0)
        end(l, status, uv_strerror(status));
    else
        flush(l);
}

static void flush(struct link *l)
{
    struct write *w;
    uv_buf_t bytes;
    int rc;

    if (l->under_way || l->state == LINK_ENDED)
        return;
    if (!l->pending.len) {
        if (l->state == LINK_FINISHING)
            hang_up(l);
        return;
    }
    w = mem_zero(sizeof(*w));
    w->request.data = w;
    w->bytes = l->pending;
    l->pending = (struct buf){0};
    l->under_way = w->bytes.len;
    bytes = uv_buf_init(w->bytes.data, (unsigned)w->bytes.len);
    rc = uv_write(&w->request, (uv_stream_t *)&l->tcp, &bytes, 1, on_written);
    if (rc < 0) {
        buf_done(&w->bytes);
        free(w);
        l->under_way = 0;
        fail_later(l, rc);
    }
}

void link_send_frame(struct link *l, const struct buf *frame)
{
    int rc;

    if (l->state != LINK_OPEN || l->fault)
        return;
    rc = tls_send(l->tls, frame->data, frame->len, &l->pending);
    if (!rc && l->pending.len + l->under_way > LINK_QUEUE_MAX)
        rc = -ENOBUFS;
    if (rc)
        fail_later(l, rc);
    else
        flush(l);
}

void link_send(struct link *l, const struct wire_message *m)
{
    auto_buf struct buf frame = {0};
    int rc = wire_encode(m, &frame);

    if (rc)
        fail_later(l, rc);
    else
        link_send_frame(l, &frame);
}

void link_finish(struct link *l)
{
    if (l->state == LINK_ENDED)
        return;
    l->state = LINK_FINISHING;
    if (!l->fault)
        arm(l, LINK_OPEN_MS);
    flush(l);
}

/* ---- reading ------------------------------------------------------------------------------------
 */

/* One thread, and what was read is used up before the next read. */
static void on_alloc(uv_handle_t *handle, size_t wanted, uv_buf_t *out)
{
    static char bytes[READ_SIZE];

    (void)handle;
    (void)wanted;
    *out = uv_buf_init(bytes, sizeof(bytes));
}

/* Each whole frame is a message; the callee may close the link. */
static void deliver(struct link *l)
{
    const char *frame;
    size_t at = 0, n = 0;

    while (l->state == LINK_OPEN && (frame = wire_next(&l->plain, &at, &n))) {
        struct wire_message m = {0};
        struct err err = ERR_INIT;

        if (wire_decode(frame, n, &m, &err) < 0) {
            end(l, -EBADMSG, err.text);
            return;
        }
        l->calls.on_message(l, &m);
    }
    if (l->state == LINK_OPEN && n) {
        end(l, -EBADMSG, "a message that is too long, or empty");
        return;
    }
    if (l->state == LINK_OPEN)
        buf_drop_front(&l->plain, at);
    else
        buf_clear(&l->plain);
    if (!l->plain.len) /* the leader has many links, and most are idle */
        buf_done(&l->plain);
}

static void become_open(struct link *l)
{
    if (l->state != LINK_SHAKING_HANDS || !tls_is_open(l->tls))
        return;
    l->state = LINK_OPEN;
    (void)uv_timer_stop(&l->timer);
    l->calls.on_open(l);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *bytes)
{
    struct link *l = stream->data;
    int rc;

    if (n < 0) {
        end(l, (int)n, n == UV_EOF ? "connection closed" : uv_strerror((int)n));
        return;
    }
    if (n == 0 || l->state == LINK_FINISHING)
        return;
    l->heard_ms = clock_ms();
    rc = tls_receive(l->tls, bytes->base, (size_t)n, &l->plain, &l->pending);
    flush(l);
    if (rc < 0) {
        end(l, rc, "the connection is not as it should be");
        return;
    }
    become_open(l);
    deliver(l);
}

/* ---- the beginning ------------------------------------------------------------------------------
 */

static struct link *new_link(uv_loop_t *loop, struct tls_context *tls, bool server,
                             const struct link_calls *calls, void *data, int *why)
{
    struct link *l = mem_zero(sizeof(*l));

    *why = uv_tcp_init(loop, &l->tcp);
    if (*why < 0) {
        free(l);
        return NULL;
    }
    (void)uv_timer_init(loop, &l->timer);
    l->handles = 2;
    l->tcp.data = l->timer.data = l->connect.data = l;
    l->tls = tls_new(tls, server);
    l->calls = *calls;
    l->data = data;
    l->heard_ms = clock_ms();
    arm(l, LINK_OPEN_MS);
    return l;
}

static int begin(struct link *l)
{
    (void)uv_tcp_nodelay(&l->tcp, 1);
    l->state = LINK_SHAKING_HANDS;
    return uv_read_start((uv_stream_t *)&l->tcp, on_alloc, on_read);
}

static void on_connected(uv_connect_t *request, int status)
{
    struct link *l = request->data;

    if (l->state == LINK_ENDED)
        return;
    if (!status)
        status = begin(l);
    if (!status)
        status = tls_start(l->tls, &l->pending);
    if (status < 0)
        end(l, status, uv_strerror(status));
    else
        flush(l);
}

struct link *link_connect(uv_loop_t *loop, struct tls_context *tls, const struct sockaddr *address,
                          const struct link_calls *calls, void *data, int *why)
{
    struct link *l = new_link(loop, tls, false, calls, data, why);

    if (!l)
        return NULL;
    *why = uv_tcp_connect(&l->connect, &l->tcp, address, on_connected);
    if (*why < 0)
        link_close(l);
    return *why < 0 ? NULL : l;
}

struct link *link_accept(uv_stream_t *listener, struct tls_context *tls,
                         const struct link_calls *calls, void *data, int *why)
{
    struct link *l = new_link(listener->loop, tls, true, calls, data, why);

    if (!l)
        return NULL;
    *why = uv_accept(listener, (uv_stream_t *)&l->tcp);
    if (!*why)
        *why = begin(l);
    if (*why < 0)
        link_close(l);
    return *why < 0 ? NULL : l;
}

/* ---- questions ----------------------------------------------------------------------------------
 */

void *link_data(const struct link *l)
{
    return l->data;
}

uint64_t link_heard_ms(const struct link *l)
{
    return l->heard_ms;
}

const char *link_claims(const struct link *l)
{
    return tls_claims(l->tls);
}

static void name_of(int (*ask)(const uv_tcp_t *, struct sockaddr *, int *), const uv_tcp_t *tcp,
                    char out[64])
{
    struct sockaddr_storage address;
    int size = sizeof(address);

    out[0] = '\0';
    if (ask(tcp, (struct sockaddr *)&address, &size) == 0)
        (void)uv_ip_name((struct sockaddr *)&address, out, 64);
}

void link_addresses(const struct link *l, char own[64], char other[64])
{
    name_of(uv_tcp_getsockname, &l->tcp, own);
    name_of(uv_tcp_getpeername, &l->tcp, other);
}
