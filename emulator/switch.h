/* SPDX-License-Identifier: Apache-2.0
 *
 * switch - the network of a rack in user space: carries Ethernet frames between the hosts' veth
 * ends, and can lose, delay and cut them.
 *
 * A process of its own, a child of the rack's. The kernel's own netem is often not there. */
#ifndef EMULATOR_SWITCH_H
#define EMULATOR_SWITCH_H
#include <stddef.h>

/* One rule, a datagram on the control socket. SIZE_MAX: any host. What it has is added to what its
 * roads have already, so that a road can be slow and lose frames; a later delay or loss wins. One
 * with nothing in it makes its roads well again. */
struct switch_rule {
    size_t from, to;
    unsigned cut;
    unsigned delay_ms;
    double loss; /* 0 to 1 */
};

/* Host i has interface index `interfaces[i]` in this network namespace and the MAC address
 * 02:66:00:00:HI:LO of i + 1. Opens its AF_PACKET sockets, then writes one byte 'u' to `control` (a
 * SOCK_SEQPACKET socket), from then on carries frames until `control` closes. Never returns; exit
 * status 1 and a negative errno (int) as a datagram instead of 'u' where it cannot. */
_Noreturn void switch_run(const unsigned *interfaces, size_t n, int control);
#endif
