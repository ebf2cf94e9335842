/* SPDX-License-Identifier: Apache-2.0
 *
 * netlink - network interfaces by the kernel's own messages: pairs, addresses, neighbours.
 *
 * Each call waits for the kernel's answer. 0 or a negative errno. */
#ifndef EMULATOR_NETLINK_H
#define EMULATOR_NETLINK_H

#define NETLINK_MAC 6

int netlink_open(void); /* a socket for the network namespace of the caller, or a negative errno */
int netlink_up(int fd, unsigned interface);
/* A veth pair: `name` here, up; `peer` in the network namespace `peer_ns`, with the address `mac`,
 * down: it cannot come up before it has its pair. */
int netlink_pair(int fd, const char *name, const char *peer, int peer_ns,
                 const unsigned char mac[NETLINK_MAC]);
/* `family` AF_INET or AF_INET6, `address` as in_addr or in6_addr; `prefix` in bits. */
int netlink_address(int fd, unsigned interface, int family, const void *address, unsigned prefix);
/* A neighbour for good: all network namespaces share one bounded table of the others, which the
 * pairs of 33 hosts would fill for the whole machine. */
int netlink_neighbour(int fd, unsigned interface, int family, const void *address,
                      const unsigned char mac[NETLINK_MAC]);
#endif
