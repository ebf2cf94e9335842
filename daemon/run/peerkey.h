/* SPDX-License-Identifier: Apache-2.0
 *
 * peerkey - the key that the hosts of a job share: from peer.key_file, else $SERRIED_JOB_KEY, else
 * derived from what all hosts know of the job, which keeps jobs apart and is no secret.
 *
 * A key file is what `serry keygen` writes (core/keyform); the same text is in the variable. */
#ifndef RUN_PEERKEY_H
#define RUN_PEERKEY_H
#include "core/keyform.h"

struct err;
struct job;
struct settings;

#define PEERKEY_SIZE KEYFORM_BYTES

struct peerkey {
    unsigned char bytes[PEERKEY_SIZE]; /* bound to the job: not the file's own */
    char tag[17];                      /* hexadecimal; of the job's name, else its hosts; public */
    bool derived;                      /* no secret was given */
};

/* -EINVAL or -EACCES ... with BLAME_CONFIG: the file cannot be read, is not ours, others may read
 * it (mode & 077, but where it belongs to root and we are not: read only), peer.key is "required"
 * and there is none. */
int peerkey_get(const struct settings *settings, const struct job *job, struct peerkey *out,
                struct err *err);
void peerkey_done(struct peerkey *key); /* wipes it */
#endif
