/* SPDX-License-Identifier: Apache-2.0
 *
 * listen - the sockets on which this host waits for others: on every address of the job's network
 * interface, and on no other.
 *
 * Where that interface is a loopback one, or has no address: on those addresses of the host's own
 * name that are on this machine, else on 127.0.0.1. Owner: listen_close(). */
#ifndef RUN_LISTEN_H
#define RUN_LISTEN_H
#include <stddef.h>
#include <uv.h>

struct err;
struct listen;

struct listen_spec {
    const char *interface;
    const char *own_name;
    unsigned port;
    void (*on_connection)(void *data, uv_stream_t *listener);
    /* Later, once: `n` sockets listen. With none of them, or where one address is taken, `err` says
     * why (BLAME_PLATFORM; for others it is clear: code 0). */
    void (*on_open)(void *data, size_t n, const struct err *err);
    void *data;
};

struct listen *listen_open(uv_loop_t *loop, const struct listen_spec *spec);
void listen_close(struct listen *l); /* NULL is fine */
/* The network interface that has this address (as text), "" if none: to `name` of `size` bytes. */
void listen_interface_of(const char *address, char *name, size_t size);
#endif
