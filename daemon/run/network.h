/* SPDX-License-Identifier: Apache-2.0
 *
 * network - the two questions to the network that come before a job of one host. */
#ifndef RUN_NETWORK_H
#define RUN_NETWORK_H
#include <stdbool.h>
#include <uv.h>

/* Does `name` resolve (IPv4 or IPv6) within `limit_ms`? Runs the loop meanwhile. */
bool network_resolves(uv_loop_t *loop, const char *name, unsigned limit_ms);
/* Is a look-up still under way in libuv's pool? Then the process must leave by _exit(). */
bool network_is_busy(void);

/* `wanted`, or another port if that one is taken, by a listener or by another job's choice: jobs of
 * one network namespace see each other's choice in an abstract unix socket, held until the process
 * ends. 0: none can be had. */
unsigned network_choose_port(unsigned wanted);
#endif
