/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "run/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "run/lookup.h"

#define SOCKETS_MAX     32
#define BACKLOG         1024
#define LOOKUP_LIMIT_MS 5000 /* for the own name; after that 127.0.0.1 must do */

struct listen {
    struct listen_spec spec;
    char *own_name;
    uv_loop_t *loop;
    uv_timer_t timer; /* the lookup's limit; then what calls on_open() from the loop */
    struct lookup *lookup;
    uv_tcp_t *sockets[SOCKETS_MAX]; /* each freed by its own close callback */
    struct sockaddr_storage addresses[SOCKETS_MAX];
    size_t n;
    struct err err;
};

static void on_socket_closed(uv_handle_t *handle)
{
    free(handle);
}

static void on_connection(uv_stream_t *listener, int status)
{
    struct listen *l = listener->data;

    if (status == 0)
        l->spec.on_connection(l->spec.data, listener);
}

static int bind_and_listen(uv_tcp_t *tcp, const struct sockaddr *address)
{
    int rc = uv_tcp_bind(tcp, address, address->sa_family == AF_INET6 ? UV_TCP_IPV6ONLY : 0);

    return rc ? rc : uv_listen((uv_stream_t *)tcp, BACKLOG, on_connection);
}

/* A socket that listens, or NULL with a negative errno in *rc. */
static uv_tcp_t *new_socket(struct listen *l, const struct sockaddr *address, int *rc)
{
    uv_tcp_t *tcp = mem_zero(sizeof(*tcp));

    *rc = uv_tcp_init(l->loop, tcp);
    if (*rc) {
        free(tcp);
        return NULL;
    }
    tcp->data = l;
    *rc = bind_and_listen(tcp, address);
    if (*rc == 0)
        return tcp;
    uv_close((uv_handle_t *)tcp, on_socket_closed);
    return NULL;
}

/* An address that is not on this machine, or not ready, is no fault. */
static void listen_on(struct listen *l, const struct sockaddr_storage *at)
{
    const struct sockaddr *address = (const struct sockaddr *)at;
    char text[INET6_ADDRSTRLEN] = "";
    int rc = 0;

    for (size_t i = 0; i < l->n; i++)
        if (memcmp(&l->addresses[i], at, sizeof(*at)) == 0)
            return;
    if (l->n == SOCKETS_MAX)
        return;
    l->sockets[l->n] = new_socket(l, address, &rc);
    if (l->sockets[l->n])
        l->addresses[l->n++] = *at;
    if (rc == 0 || rc == -EADDRNOTAVAIL || l->err.code)
        return;
    (void)uv_ip_name(address, text, sizeof(text));
    (void)err_set(&l->err, BLAME_PLATFORM, rc,
                  "cannot listen on %s, port %u (%s): another one can be set by peer.port, on all "
                  "hosts",
                  text, l->spec.port, rc == -EADDRINUSE ? "in use" : uv_strerror(rc));
}

static void listen_on_copy(struct listen *l, const struct sockaddr *address, size_t size)
{
    struct sockaddr_storage at = {0};

    memcpy(&at, address, size);
    if (at.ss_family == AF_INET)
        ((struct sockaddr_in *)&at)->sin_port = htons((uint16_t)l->spec.port);
    else if (at.ss_family == AF_INET6)
        ((struct sockaddr_in6 *)&at)->sin6_port = htons((uint16_t)l->spec.port);
    else
        return;
    listen_on(l, &at);
}

/* ---- which addresses ------------------------------------------------------------------------ */

/* Those that one machine gives to itself: names do not lead there. */
static bool is_link_local(const uv_interface_address_t *a)
{
    return a->address.address4.sin_family == AF_INET6 &&
           IN6_IS_ADDR_LINKLOCAL(&a->address.address6.sin6_addr);
}

static void listen_on_interface(struct listen *l)
{
    uv_interface_address_t *all = NULL;
    int n = 0;

    if (uv_interface_addresses(&all, &n) < 0)
        return;
    for (int i = 0; i < n; i++) {
        if (strcmp(all[i].name, l->spec.interface) != 0 || all[i].is_internal ||
            is_link_local(&all[i]))
            continue;
        listen_on_copy(l, (const struct sockaddr *)&all[i].address,
                       all[i].address.address4.sin_family == AF_INET6
                           ? sizeof(all[i].address.address6)
                           : sizeof(all[i].address.address4));
    }
    uv_free_interface_addresses(all, n);
}

static void say_open(uv_timer_t *timer)
{
    struct listen *l = timer->data;

    if (!l->n && !l->err.code)
        (void)err_set(&l->err, BLAME_PLATFORM, -EADDRNOTAVAIL,
                      "cannot listen: this host has no address on interface %s", l->spec.interface);
    l->spec.on_open(l->spec.data, l->n, &l->err);
}

static void listen_on_loopback(struct listen *l)
{
    const struct sockaddr_in loopback = {.sin_family = AF_INET,
                                         .sin_addr = {htonl(INADDR_LOOPBACK)}};

    if (!l->n && !l->err.code)
        listen_on_copy(l, (const struct sockaddr *)&loopback, sizeof(loopback));
    (void)uv_timer_start(&l->timer, say_open, 0, 0);
}

/* An address of another machine cannot be bound: only our own are left. */
static void on_own_name(void *data, int status, const struct addrinfo *found)
{
    struct listen *l = data;

    l->lookup = NULL;
    for (const struct addrinfo *a = status < 0 ? NULL : found; a; a = a->ai_next)
        listen_on_copy(l, a->ai_addr, a->ai_addrlen);
    listen_on_loopback(l);
}

static void on_lookup_limit(uv_timer_t *timer)
{
    struct listen *l = timer->data;

    lookup_leave(TAKE(l->lookup));
    listen_on_loopback(l);
}

static void look_up_own_name(struct listen *l)
{
    int why;

    l->lookup = lookup_start(l->loop, l->own_name, on_own_name, l, &why);
    if (l->lookup)
        (void)uv_timer_start(&l->timer, on_lookup_limit, LOOKUP_LIMIT_MS, 0);
    else
        listen_on_loopback(l);
}

/* ---- the whole ------------------------------------------------------------------------------ */

struct listen *listen_open(uv_loop_t *loop, const struct listen_spec *spec)
{
    struct listen *l = mem_zero(sizeof(*l));

    l->spec = *spec;
    l->own_name = mem_dup(spec->own_name);
    l->loop = loop;
    (void)uv_timer_init(loop, &l->timer);
    l->timer.data = l;
    listen_on_interface(l);
    if (l->n || l->err.code)
        (void)uv_timer_start(&l->timer, say_open, 0, 0);
    else
        look_up_own_name(l);
    return l;
}

static void on_timer_closed(uv_handle_t *handle)
{
    struct listen *l = handle->data;

    free(l->own_name);
    free(l);
}

void listen_close(struct listen *l)
{
    if (!l)
        return;
    lookup_leave(l->lookup);
    for (size_t i = 0; i < l->n; i++)
        uv_close((uv_handle_t *)l->sockets[i], on_socket_closed);
    uv_close((uv_handle_t *)&l->timer, on_timer_closed);
}

/* All of 127.0.0.0/8 is here, though the interface has 127.0.0.1 only. */
static bool has_address(const uv_interface_address_t *a, const char *address)
{
    static const char loopback[] = "127.";
    char text[INET6_ADDRSTRLEN] = "";

    if (a->is_internal && strncmp(address, loopback, strlen(loopback)) == 0)
        return true;
    (void)uv_ip_name((const struct sockaddr *)&a->address, text, sizeof(text));
    return strcmp(text, address) == 0;
}

void listen_interface_of(const char *address, char *name, size_t size)
{
    uv_interface_address_t *all = NULL;
    int n = 0;

    *name = '\0';
    if (uv_interface_addresses(&all, &n) < 0)
        return;
    for (int i = 0; i < n && !*name; i++)
        if (has_address(&all[i], address))
            (void)snprintf(name, size, "%s", all[i].name);
    uv_free_interface_addresses(all, n);
}
