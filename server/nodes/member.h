/* SPDX-License-Identifier: Apache-2.0
 *
 * The table `member`: what the nodes tell each other of themselves, by which follows what nobody
 * needs of the changes any more. On the lane's reader. For server/nodes and --join.
 */
#ifndef NB_SERVER_NODES_MEMBER_H
#define NB_SERVER_NODES_MEMBER_H

#include "core/base/error.h"
#include "server/nodes/told.h"

struct nb_config;
struct nb_database;
struct nb_lane;
struct nb_point;

/* The name of this node: of the configuration, or of the machine and the port. */
void nb_member_name(const struct nb_config *config, char name[NB_MEMBER_NAME_MOST + 1]);
/* Says that the node has come so far in the stream: what is behind that is not cut, from then on.
 * Returns as nb_database_run. */
int nb_member_announce(struct nb_database *database, const struct nb_config *config,
                       unsigned stream, uint64_t applied, struct nb_point digested,
                       struct nb_error *error);
/* Announces this node, reads what the others say, and cuts what nobody needs, if it is time.
 * Returns as nb_database_run. */
int nb_member_round(struct nb_lane *lane, struct nb_error *error);

#endif
