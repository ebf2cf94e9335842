/* SPDX-License-Identifier: Apache-2.0
 *
 * rack - N emulated hosts on this machine, each with its own name, network (eth0), /opt/ml, /tmp,
 * /run, /dev/shm and process numbers, made of namespaces; or, without isolation, processes on
 * 127.1.0.N whose name look-ups are answered by a preload.
 *
 * This is the caller's side: a process of the rack (process 1 of a namespace of its own) owns the
 * network and all hosts, and ends with the caller, however that ends. Host 0 is the first.
 * Source: measured facts of user namespaces, overlay and veth in docs/emulator.md. */
#ifndef EMULATOR_RACK_H
#define EMULATOR_RACK_H
#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

struct err;
struct rack;

#define RACK_HOSTS_MAX 256

enum rack_mode {
    RACK_AUTO,   /* the best that works, of the ones below */
    RACK_ROOT,   /* caller is root: no user namespace */
    RACK_RANGE,  /* newuidmap and /etc/subuid */
    RACK_SINGLE, /* one uid is mapped */
    RACK_LOOSE   /* no isolation */
};

struct rack_host {
    const char *name;
    const char *base; /* folder that is /opt/ml there; writable */
    char *const *env; /* NAME=VALUE, the container's */
    unsigned gpus;    /* pretended device files /dev/nvidia0 ...; 0: none */
    long disk_mib;    /* size of /opt/ml/output; 0: the caller's disk */
    long memory_mib;  /* limit, where control groups allow; 0: none */
};

struct rack_spec {
    enum rack_mode mode;
    const struct rack_host *hosts;
    size_t n;
    const char
        *state; /* folder of the emulation; the rack keeps its hosts file and sockets there */
    char *const *argv; /* the daemon; argv[0] an absolute path. RACK_LOOSE adds --base BASE */
    const char *hide;  /* a folder of the caller's that must not be seen, or NULL */
    bool ipv6;         /* names resolve to fd66::N as well, before the IPv4 address */
};

struct rack_calls {
    void (*on_output)(void *data, size_t host, int stream, const char *bytes, size_t n);
    /* The daemon of the host has ended, its output has been given; `status` as waitpid() has it. */
    void (*on_exit)(void *data, size_t host, int status);
    void (*on_exec_exit)(void *data, unsigned id, int status);
    void (*on_broken)(void *data, const char *text); /* the rack itself has ended */
};

/* Makes the hosts; their daemons are not started. Blocks until all are up (about 5 ms a host).
 * NULL, nothing left behind, with `err`: what is refused, by what, and what would help. */
struct rack *rack_open(uv_loop_t *loop, const struct rack_spec *spec,
                       const struct rack_calls *calls, void *data, struct err *err);
enum rack_mode rack_mode(const struct rack *r);
/* One line: "root", "user namespaces, uids 100000-165535", "no isolation: ...". Borrowed. */
const char *rack_mode_text(const struct rack *r);

void rack_start(struct rack *r, size_t host); /* its daemon, as process 1 */
void rack_signal(struct rack *r, size_t host,
                 int number);                            /* to the daemon; SIGKILL ends the host */
void rack_freeze(struct rack *r, size_t host, bool on);  /* all its processes */
void rack_name(struct rack *r, size_t host, bool known); /* in every host's /etc/hosts */
/* The road from one host to another (SIZE_MAX: to and from all): no packet, late, or some lost. */
void rack_road(struct rack *r, size_t from, size_t to, bool cut, unsigned delay_ms, double loss);
/* Runs `argv` inside; `fds` are dup'ed, the caller keeps its own. on_exec_exit() with `id` follows,
 * with status 127 << 8 where it cannot be started. */
void rack_exec(struct rack *r, size_t host, char *const *argv, char *const *env, const int fds[3],
               unsigned id);
/* Kills everything that is left, waits for it, removes what the rack made in `state` and control
 * groups; no callback follows. */
void rack_close(struct rack *r);
#endif
