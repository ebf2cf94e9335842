/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "run/lookup.h"

#include <stdlib.h>
#include <sys/socket.h>

#include "base/mem.h"

struct lookup {
    uv_getaddrinfo_t request;
    void (*done)(void *data, int status, const struct addrinfo *found); /* NULL: nobody waits */
    void *data;
};

static size_t under_way;

static void on_answer(uv_getaddrinfo_t *request, int status, struct addrinfo *found)
{
    struct lookup *l = request->data;

    under_way--;
    if (l->done)
        l->done(l->data, status, found);
    uv_freeaddrinfo(found);
    free(l);
}

struct lookup *lookup_start(uv_loop_t *loop, const char *name,
                            void (*done)(void *data, int status, const struct addrinfo *found),
                            void *data, int *why)
{
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct lookup *l = mem_zero(sizeof(*l));

    l->request.data = l;
    l->done = done;
    l->data = data;
    *why = uv_getaddrinfo(loop, &l->request, on_answer, name, NULL, &hints);
    if (*why < 0) {
        free(l);
        return NULL;
    }
    under_way++;
    return l;
}

void lookup_leave(struct lookup *l)
{
    if (!l)
        return;
    l->done = NULL;
    (void)uv_cancel((uv_req_t *)&l->request); /* only one that still waits for a thread */
}

bool lookup_is_busy(void)
{
    return under_way > 0;
}
