/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce - a rank of a small distributed program: sums a number over all ranks, again and again,
 * through rank 0 at MASTER_ADDR:MASTER_PORT. Options come as hyperparameters:
 *
 *   --steps N (10)     --ms N (0): work between steps
 *   --fail-rank R --fail-step K (3) --fail-with CODE (3): that rank ends with a last word
 *   --kill-rank R: that rank kills itself at the step
 *   --stubborn 1: SIGTERM is ignored
 *
 * Prints "host H rank R of N: sum S" at the end, "step K" lines with --say 1. A peer that goes away
 * is an error of the kind that libraries report. */
#include "rank.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#define WORLD_MAX 4096

static long option(int argc, char **argv, const char *name, long otherwise)
{
    for (int i = 1; i + 1 < argc; i++)
        if (strncmp(argv[i], "--", 2) == 0 && strcmp(argv[i] + 2, name) == 0)
            return atol(argv[i + 1]);
    return otherwise;
}

static void lost(const char *what)
{
    fprintf(stderr, "ConnectionError: %s: %s\n", what,
            errno ? strerror(errno) : "connection closed by peer");
    exit(1);
}

static void put(int fd, int64_t value)
{
    errno = 0;
    if (send(fd, &value, sizeof value, MSG_NOSIGNAL) != (ssize_t)sizeof value)
        lost("send");
}

static int64_t get(int fd)
{
    int64_t value;

    errno = 0;
    if (recv(fd, &value, sizeof value, MSG_WAITALL) != (ssize_t)sizeof value)
        lost("recv");
    return value;
}

static struct addrinfo *resolve(int passive)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = passive ? AI_PASSIVE : 0};
    struct addrinfo *found;
    int rc = getaddrinfo(passive ? NULL : rank_text("MASTER_ADDR", "localhost"),
                         rank_text("MASTER_PORT", "7777"), &hints, &found);

    if (rc) {
        fprintf(stderr, "getaddrinfo: %s\n", gai_strerror(rc));
        exit(97);
    }
    return found;
}

static void gather(int *peers, long world)
{
    struct addrinfo *any = resolve(1);
    int on = 1, fd = socket(any->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, any->ai_addr, any->ai_addrlen) || listen(fd, WORLD_MAX)) {
        perror("address already in use");
        exit(96);
    }
    for (long i = 1; i < world; i++) {
        int peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC);

        setsockopt(peer, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        peers[get(peer)] = peer;
    }
    close(fd);
    freeaddrinfo(any);
}

/* Rank 0 may be up later than we. */
static int join(long rank)
{
    struct addrinfo *to = resolve(0);
    int on = 1;

    for (int attempt = 0; attempt < 500; attempt++) {
        for (struct addrinfo *at = to; at; at = at->ai_next) {
            int fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

            if (connect(fd, at->ai_addr, at->ai_addrlen) == 0) {
                setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
                put(fd, rank);
                freeaddrinfo(to);
                return fd;
            }
            close(fd);
        }
        rank_work(20);
    }
    lost("connect");
    return -1;
}

static int64_t reduce(const int *peers, long rank, long world, int64_t value)
{
    int64_t sum = value;

    if (rank) {
        put(peers[0], value);
        return get(peers[0]);
    }
    for (long i = 1; i < world; i++)
        sum += get(peers[i]);
    for (long i = 1; i < world; i++)
        put(peers[i], sum);
    return sum;
}

int main(int argc, char **argv)
{
    static int peers[WORLD_MAX];
    long rank = rank_self(), world = rank_number("WORLD_SIZE", 1);
    long steps = option(argc, argv, "steps", 10), ms = option(argc, argv, "ms", 0);
    long at = option(argc, argv, "fail-step", 3), say = option(argc, argv, "say", 0);
    int64_t sum = 0;

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (option(argc, argv, "stubborn", 0))
        signal(SIGTERM, SIG_IGN);
    if (world > 1 && rank == 0)
        gather(peers, world);
    else if (world > 1)
        peers[0] = join(rank);
    printf("joined\n");
    for (long step = 0; step < steps; step++) {
        if (step == at && rank == option(argc, argv, "fail-rank", -1)) {
            fprintf(stderr, "ValueError: bad shard at step %ld\n", step);
            return (int)option(argc, argv, "fail-with", 3);
        }
        if (step == at && rank == option(argc, argv, "kill-rank", -1))
            raise(SIGKILL);
        sum += reduce(peers, rank, world, rank + 1);
        if (say)
            printf("step %ld\n", step);
        if (ms)
            rank_work(ms);
    }
    printf("host %s rank %ld of %ld: sum %lld\n", rank_text("SM_CURRENT_HOST", "?"), rank, world,
           (long long)sum);
    return 0;
}
