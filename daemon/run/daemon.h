/* SPDX-License-Identifier: Apache-2.0
 *
 * daemon - the job on this host, from its configuration to its last word. One call, one job. */
#ifndef RUN_DAEMON_H
#define RUN_DAEMON_H

struct inputs_options;

/* Reads, plans, runs, reports. The exit status of the process. */
int daemon_run(const struct inputs_options *options);
#endif
