/* SPDX-License-Identifier: Apache-2.0
 *
 * Routes that show this node among the others: GET /v1/state/digest gives the digest of what the
 * node has learned, which is the same on all nodes; GET /v1/nodes, /readyz and /metrics give the
 * node's state. Any thread.
 */
#ifndef NB_SERVER_NODES_NODES_ROUTE_H
#define NB_SERVER_NODES_NODES_ROUTE_H

#include "server/http/request/request.h"

struct nb_buffer;
struct nb_emitter;
struct nb_nodes;

nb_handler nb_route_digest;
/* GET /v1/nodes: the members that this node knows of; an empty list if it is alone. */
nb_handler nb_route_nodes;

/* Emits the member "nodes" of an object. */
void nb_emit_nodes_state(struct nb_emitter *e, struct nb_nodes *nodes);
/* Appends metrics. Returns 0 or NB_NO_MEMORY. */
int nb_nodes_metrics(struct nb_nodes *nodes, struct nb_buffer *out);

#endif
