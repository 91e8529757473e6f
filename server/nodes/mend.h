/* SPDX-License-Identifier: Apache-2.0
 *
 * bayesd --mend-stream: makes the copies of the cluster's stream equal, where a NATS server has
 * kept what the others do not have (config/cluster/README.md). Main thread; nodes may be running.
 */
#ifndef NB_SERVER_NODES_MEND_H
#define NB_SERVER_NODES_MEND_H

#include "core/base/error.h"

struct nb_config;

/* Drops all copies but that of the server that leads, has the others made anew from it, waits until
 * they are, and prints what was done to standard output. Returns 0; NB_INVALID: there is no
 * [cluster], or its stream has one copy; NB_NOT_FOUND: there is no stream; NB_STOPPING: the servers
 * do not answer or do not get done, and it is to be called again: the stream may have one copy till
 * then; NB_UNSUPPORTED: this build has no NATS. */
int nb_nodes_mend(const struct nb_config *config, struct nb_error *error);

#endif
