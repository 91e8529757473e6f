/* SPDX-License-Identifier: Apache-2.0
 *
 * GET /v1/state/digest: what this node knows, as a number that other nodes have, too. And how it
 * stands with them, for /readyz and /metrics.
 */
#ifndef NB_SERVER_NODES_ROUTE_H
#define NB_SERVER_NODES_ROUTE_H

#include "core/base/buffer.h"
#include "server/request/route.h"

struct nb_emitter;
struct nb_nodes;

nb_handler nb_route_digest;

/* The member "cluster" of an object. */
void nb_emit_nodes_state(struct nb_emitter *e, struct nb_nodes *nodes);
/* Appends metrics. Returns 0 or NB_NO_MEMORY. */
int nb_nodes_metrics(struct nb_nodes *nodes, struct nb_buffer *out);

#endif
