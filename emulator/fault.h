/* SPDX-License-Identifier: Apache-2.0
 *
 * fault - trouble on request: KIND:HOST[:VALUE][@SECONDS], by --fault or at run time.
 *
 *   kill:H          SIGKILL to all of the host          freeze:H   thaw:H
 *   stop:H          SIGTERM to its daemon               cut:H      heal:H   (off the network, back)
 *   cut:H:OTHER     only between these two              heal:H:OTHER
 *   delay:H:50ms    every packet from and to it         loss:H:5%
 *   late-name:H@8   its name resolves after 8 s         no-name:H  never
 *   late-start:H@8  its daemon starts after 8 s         no-start:H never
 *   disk:H:16MiB    size of /opt/ml/output              memory:H:256MiB
 *
 * Without @SECONDS: from the start. Pure, but for fault_apply(). */
#ifndef EMULATOR_FAULT_H
#define EMULATOR_FAULT_H
#include <stdbool.h>
#include <stddef.h>

struct err;
struct rack;
struct strv;

enum fault_kind {
    FAULT_KILL,
    FAULT_STOP,
    FAULT_FREEZE,
    FAULT_THAW,
    FAULT_CUT,
    FAULT_HEAL,
    FAULT_DELAY,
    FAULT_LOSS,
    FAULT_LATE_NAME,
    FAULT_NO_NAME,
    FAULT_LATE_START,
    FAULT_NO_START,
    FAULT_DISK,
    FAULT_MEMORY,
    FAULT_KINDS
};

struct fault {
    enum fault_kind kind;
    size_t host;
    size_t other; /* SIZE_MAX: all */
    double value; /* ms, share of 1, or MiB */
    double at_s;  /* seconds after the start; 0: from the start */
};

/* BLAME_USER with the sentence: which kinds there are, what was found. `names` are the hosts'. */
int fault_parse(const char *spec, const struct strv *names, struct fault *out, struct err *err);
/* Can it be asked for while the job runs? (not: disk, memory, late and no) */
bool fault_is_live(const struct fault *f);
/* Does it end the host's daemon, so that its exit status is not the job's? */
bool fault_ends_host(const struct fault *f);
void fault_apply(const struct fault *f, struct rack *r);
#endif
