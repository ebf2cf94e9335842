/* SPDX-License-Identifier: Apache-2.0
 *
 * dial - says when to try which address of a host: its name is looked up, all its addresses get
 * their turn, and after a pause all begins again, until the caller has enough.
 *
 * Connects to nothing itself: the caller does, and says dial_next() when an attempt has failed.
 * Every call back comes from the loop, none from within dial_*(). Owner: dial_close(). */
#ifndef RUN_DIAL_H
#define RUN_DIAL_H
#include <stdint.h>
#include <sys/socket.h>
#include <uv.h>

struct dial;

struct dial_spec {
    const char *name; /* copied */
    unsigned port;
    uint32_t first_ms; /* until the first round */
    uint32_t pause_ms; /* between rounds; doubled each time, up to ... */
    uint32_t pause_max_ms;
    uint32_t attempt_ms; /* for a lookup or an attempt */
    void (*attempt)(void *data, const struct sockaddr *address);
    void (*late)(void *data);      /* attempt_ms have passed: the attempt is to be given up */
    void (*not_found)(void *data); /* the name has no address now; another round follows */
    void *data;
};

struct dial *dial_open(uv_loop_t *loop, const struct dial_spec *spec);
void dial_next(struct dial *d);  /* this attempt has failed */
void dial_close(struct dial *d); /* NULL is fine */
#endif
