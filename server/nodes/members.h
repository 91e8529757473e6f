/* SPDX-License-Identifier: Apache-2.0
 *
 * The nodes of a cluster know of each other: each tells every few seconds how far it has come, in
 * the stream NAME_members, which keeps the last word of each. With [cluster] peers the stream of
 * changes is cut: what all known nodes have had for a while goes. For server/nodes alone, in a
 * build with the library.
 */
#ifndef NB_SERVER_NODES_MEMBERS_H
#define NB_SERVER_NODES_MEMBERS_H

#include "core/base/error.h"

struct nb_members;
struct nb_nodes;

/* Begins, in a thread of its own. `nodes` is borrowed until the stop. */
int nb_members_start(struct nb_nodes *nodes, struct nb_members **members, struct nb_error *error);
/* Ends it, before the connection is closed. *members may be NULL. */
void nb_members_stop(struct nb_members **members);

#endif
