/* SPDX-License-Identifier: Apache-2.0
 *
 * GET /v1/state/digest: what this node knows, as a number that other nodes have, too. And how it
 * stands with them: GET /v1/nodes, and for /readyz.
 */
#ifndef NB_SERVER_NODES_NODES_ROUTE_H
#define NB_SERVER_NODES_NODES_ROUTE_H

#include "server/request/route.h"

struct nb_emitter;
struct nb_nodes;

nb_handler nb_route_digest;
/* GET /v1/nodes: the members, as far as this node has heard of them; none if it is alone. */
nb_handler nb_route_nodes;

/* The member "nodes" of an object. */
void nb_emit_nodes_state(struct nb_emitter *e, struct nb_nodes *nodes);

#endif
