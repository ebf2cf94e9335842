/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "run/network.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"

static struct {
    uv_getaddrinfo_t request; /* outlives a deadline that passed */
    uv_timer_t limit;
    bool busy, late, found;
} lookup;

static void on_resolved(uv_getaddrinfo_t *request, int status, struct addrinfo *found)
{
    (void)request;
    lookup.busy = false;
    lookup.found = status == 0;
    uv_freeaddrinfo(found);
}

static void on_limit(uv_timer_t *timer)
{
    (void)timer;
    lookup.late = true;
}

bool network_resolves(uv_loop_t *loop, const char *name, unsigned limit_ms)
{
    lookup.late = lookup.found = false;
    if (lookup.busy || uv_timer_init(loop, &lookup.limit) < 0)
        return false;
    lookup.busy = uv_getaddrinfo(loop, &lookup.request, on_resolved, name, NULL, NULL) == 0;
    (void)uv_timer_start(&lookup.limit, on_limit, limit_ms, 0);
    while (lookup.busy && !lookup.late)
        (void)uv_run(loop, UV_RUN_ONCE);
    uv_close((uv_handle_t *)&lookup.limit, NULL);
    (void)uv_run(loop, UV_RUN_NOWAIT); /* closes it now */
    return lookup.found;
}

bool network_is_busy(void)
{
    return lookup.busy;
}

/* A socket bound to `port` of every address, as a library of the program would listen there
 * (SO_REUSEADDR); -1 where it is taken. */
static int listen_on(unsigned port)
{
    auto_fd int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in6 any6 = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
    struct sockaddr_in any4 = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    const void *any = &any6;
    socklen_t size = sizeof(any6);
    int on = 1, off = 0;

    if (fd < 0) {
        fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        any = &any4;
        size = sizeof(any4);
    } else {
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    }
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (fd < 0 || bind(fd, any, size) < 0 || listen(fd, 1) < 0)
        return -1;
    return TAKE_FD(fd);
}

/* Our mark on a port for other jobs to see; kept open. False where another job has it. */
static bool claim(unsigned port)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int n = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "serried-port-%u", port);

    if (fd < 0)
        return true;
    if (bind(fd, (struct sockaddr *)&name,
             (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)) == 0 ||
        errno != EADDRINUSE)
        return true;
    (void)close(fd);
    return false;
}

unsigned network_choose_port(unsigned wanted)
{
    for (int attempt = 0; attempt < 16; attempt++) {
        auto_fd int fd = listen_on(attempt ? 0 : wanted);
        struct sockaddr_in6 bound = {0};
        socklen_t size = sizeof(bound);

        if (fd < 0 || getsockname(fd, (struct sockaddr *)&bound, &size) < 0)
            continue;
        if (claim(ntohs(bound.sin6_port))) /* the port stands in the same place for IPv4 */
            return ntohs(bound.sin6_port);
    }
    return 0;
}
