/* SPDX-License-Identifier: Apache-2.0
 *
 * host - the first process of an emulated host: makes its file system and network, waits for the
 * start, and becomes the daemon.
 *
 * It and the rack talk over a SOCK_SEQPACKET socket, the line: HOST_ENTER when it is in its control
 * group, HOST_WIRED when it has its eth0; it answers with a RACKD_FAILED message whose
 * error is empty where it is up, and a descriptor of its output if that is limited; then comes
 * HOST_START. */
#ifndef EMULATOR_HOST_H
#define EMULATOR_HOST_H
#include <stddef.h>

struct rackd;
struct strv;

#define HOST_ENTER "e"
#define HOST_WIRED "w"
#define HOST_START "s"
#define HOST_NIC   "eth0"

struct host_part {
    const struct rackd *rack;
    size_t host;
    int line;
    int output[2]; /* where the daemon writes its standard output and error */
};

/* In the new process, in its own namespaces but for that of the control groups. */
_Noreturn void host_run(struct host_part *part);
/* What a process of the host has as its environment: `env`, or the host's own where that is NULL or
 * empty, with PATH, HOME and HOSTNAME where they are not there. */
void host_environment(const struct rackd *rack, size_t host, char *const *env, struct strv *out);
#endif
