/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "emulator/rackd.h"

#define SHORT offsetof(struct rackd_message, err) /* of a message without a sentence */

union room { /* aligned as the kernel wants it */
    struct cmsghdr head;
    char bytes[CMSG_SPACE(RACKD_FDS_MAX * sizeof(int))];
};

int rackd_send(int fd, const struct rackd_message *m, const struct rackd_fds *fds)
{
    struct iovec part = {(void *)m, m->word == RACKD_FAILED ? sizeof(*m) : SHORT};
    union room room = {0};
    struct msghdr head = {.msg_iov = &part, .msg_iovlen = 1};

    if (fds && fds->n) {
        struct cmsghdr *c = &room.head;

        head.msg_control = &room;
        head.msg_controllen = CMSG_SPACE(fds->n * sizeof(int));
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(fds->n * sizeof(int));
        memcpy(CMSG_DATA(c), fds->fd, fds->n * sizeof(int));
    }
    while (sendmsg(fd, &head, MSG_NOSIGNAL) < 0)
        if (errno != EINTR)
            return -errno;
    return 0;
}

static void take_fds(struct msghdr *head, struct rackd_fds *out)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(head); c; c = CMSG_NXTHDR(head, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        out->n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        memcpy(out->fd, CMSG_DATA(c), out->n * sizeof(int));
    }
}

int rackd_receive(int fd, struct rackd_message *m, struct rackd_fds *fds)
{
    struct iovec part = {m, sizeof(*m)};
    union room room = {0};
    struct msghdr head = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &room, .msg_controllen = sizeof(room)};
    struct rackd_fds got = {.n = 0};
    ssize_t n;

    memset(m, 0, sizeof(*m));
    do {
        n = recvmsg(fd, &head, MSG_CMSG_CLOEXEC);
    } while (n < 0 && errno == EINTR);
    if (n <= 0)
        return n < 0 ? -errno : 0;
    take_fds(&head, &got);
    if (fds && (size_t)n >= SHORT) {
        *fds = got;
        return 1;
    }
    for (size_t i = 0; i < got.n; i++)
        (void)close(got.fd[i]);
    return (size_t)n >= SHORT ? 1 : -EPROTO;
}
