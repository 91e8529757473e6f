/* SPDX-License-Identifier: Apache-2.0
 *
 * The state of a node among the others, for GET /metrics. Any thread.
 */
#ifndef NB_SERVER_NODES_NODES_METRICS_H
#define NB_SERVER_NODES_NODES_METRICS_H

#include "core/base/buffer.h"

struct nb_nodes;

/* Appends metrics. Returns 0 or NB_NO_MEMORY. */
int nb_nodes_metrics(struct nb_nodes *nodes, struct nb_buffer *out);

#endif
