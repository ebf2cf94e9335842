/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "emulator/hostnames.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/files.h"
#include "base/mem.h"
#include "emulator/rack.h"

#define NET_V4 0x0a420000U /* 10.66.0.0 */

struct in_addr hostnames_v4(size_t host)
{
    return (struct in_addr){.s_addr = htonl(NET_V4 + (uint32_t)host + 1)};
}

struct in6_addr hostnames_v6(size_t host)
{
    struct in6_addr a = {0};

    a.s6_addr[0] = 0xfd;
    a.s6_addr[1] = 0x66;
    a.s6_addr[14] = (uint8_t)((host + 1) >> 8);
    a.s6_addr[15] = (uint8_t)(host + 1);
    return a;
}

void hostnames_mac(size_t host, unsigned char mac[6])
{
    mac[0] = 0x02;
    mac[1] = 0x66;
    mac[2] = mac[3] = 0;
    mac[4] = (unsigned char)((host + 1) >> 8);
    mac[5] = (unsigned char)(host + 1);
}

/* As far as programs that want to know whether there is a loopback of that kind. */
static const char *loopback(bool ipv6)
{
    return ipv6 ? "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n"
                : "127.0.0.1 localhost\n";
}

int hostnames_open(struct hostnames *h, const char *path, const struct rack_host *hosts, size_t n,
                   bool ipv6)
{
    auto_buf struct buf text = {0};
    auto_fd int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    auto_free struct hostnames_lines *lines = mem_zero(n * sizeof(*lines));
    int rc;

    if (fd < 0 || fchmod(fd, 0644) < 0) /* for every user of the hosts, whatever our umask */
        return -errno;
    buf_str(&text, loopback(ipv6));
    for (size_t i = 0; i < n; i++) {
        lines[i].v6 = ipv6 ? (long)text.len : -1;
        if (ipv6)
            buf_printf(&text, "fd66::%zx %s\n", i + 1, hosts[i].name);
        lines[i].v4 = (long)text.len;
        buf_printf(&text, "10.66.%zu.%zu %s\n", (i + 1) >> 8, (i + 1) & 255, hosts[i].name);
    }
    rc = fd_write_all(fd, buf_text(&text), text.len);
    if (rc)
        return rc;
    *h = (struct hostnames){.fd = TAKE_FD(fd), .n = n, .lines = TAKE(lines)};
    return 0;
}

void hostnames_set(const struct hostnames *h, size_t host, bool known)
{
    if (h->lines[host].v6 >= 0)
        (void)!pwrite(h->fd, known ? "f" : "#", 1, h->lines[host].v6);
    (void)!pwrite(h->fd, known ? "1" : "#", 1, h->lines[host].v4);
}

void hostnames_close(struct hostnames *h)
{
    if (!h->lines)
        return;
    (void)close(h->fd);
    free(TAKE(h->lines));
}
