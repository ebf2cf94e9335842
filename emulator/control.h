/* SPDX-License-Identifier: Apache-2.0
 *
 * control - talks to a running emulation: run a command in a host, ask for a fault.
 *
 * A unix socket in the emulation's state folder, readable by its owner only. One request a
 * connection: a frame of NUL-separated words with three descriptors; the answer is one line. */
#ifndef EMULATOR_CONTROL_H
#define EMULATOR_CONTROL_H
#include <uv.h>

struct err;
struct fault;
struct rack;
struct strv;
struct control;

/* Serves `path`: commands go to the rack, faults to `on_fault`. */
struct control *control_open(uv_loop_t *loop, const char *path, struct rack *rack,
                             const struct strv *names,
                             void (*on_fault)(void *data, const struct fault *fault), void *data,
                             struct err *err);
void control_exec_exit(struct control *c, unsigned id, int status); /* from the rack's callback */
void control_close(struct control *c);

/* The client's side, blocking. Exit status of the command, or of a usage error; `err` says what
 * went wrong. `state` NULL: the only emulation of this user that runs. */
int control_exec(const char *state, const char *host, char *const *argv, struct err *err);
int control_fault(const char *state, const char *spec, struct err *err);
#endif
