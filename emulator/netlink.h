/* SPDX-License-Identifier: Apache-2.0
 *
 * netlink - the few things a rack asks of the kernel's network: pairs of veth, addresses,
 * neighbours. All return 0 or a negative errno. */
#ifndef EMULATOR_NETLINK_H
#define EMULATOR_NETLINK_H
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

int netlink_open(void); /* a descriptor, in the caller's network namespace */
int netlink_up(int netlink, unsigned interface);
/* `name` here, and its other end `peer` with this MAC address in the namespace `where`. */
int netlink_veth(int netlink, const char *name, const char *peer, const uint8_t mac[6], int where);
int netlink_address4(int netlink, unsigned interface, struct in_addr address, unsigned bits);
/* Usable at once: nobody else can have it. */
int netlink_address6(int netlink, unsigned interface, const struct in6_addr *address,
                     unsigned bits);
/* For ever: entries that age are counted over all namespaces of the machine. */
int netlink_neighbour(int netlink, unsigned interface, int family, const void *address,
                      const uint8_t mac[6]);
#endif
