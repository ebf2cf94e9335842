/* SPDX-License-Identifier: Apache-2.0
 *
 * hostnames - names and addresses of a rack's hosts, and the hosts file that all of them share.
 *
 * Host i has 10.66.HI.LO, fd66::N and 02:66:00:00:HI:LO of the number N = i + 1. The file is
 * changed in place, a byte a line: a rename would part it from the hosts it is mounted in, and no
 * reader finds it half written. */
#ifndef EMULATOR_HOSTNAMES_H
#define EMULATOR_HOSTNAMES_H
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>

struct rack_host;

#define HOSTNAMES_PREFIX_V4 16
#define HOSTNAMES_PREFIX_V6 64

struct in_addr hostnames_v4(size_t host);
struct in6_addr hostnames_v6(size_t host);
void hostnames_mac(size_t host, unsigned char mac[6]);

struct hostnames {
    int fd;
    size_t n;
    struct hostnames_lines { /* where the host's lines begin; negative: none */
        long v4, v6;
    } * lines;
};

/* Writes `path` with all names known; with `ipv6` each first has its IPv6 address. 0 or a negative
 * errno. Owner: hostnames_close(), which leaves the file. */
int hostnames_open(struct hostnames *h, const char *path, const struct rack_host *hosts, size_t n,
                   bool ipv6);
void hostnames_set(const struct hostnames *h, size_t host, bool known);
void hostnames_close(struct hostnames *h);
#endif
