/* SPDX-License-Identifier: Apache-2.0
 *
 * bayesc cluster status and bayesc cluster check: how each of several nodes stands, and whether all
 * have learned the same. Of one node that is asked, all members that it knows are asked.
 */
#ifndef NB_CLIENT_CLUSTER_NODES_H
#define NB_CLIENT_CLUSTER_NODES_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/error.h"
#include "server/client/base/client.h"

enum { NB_CLUSTER_NODES_MOST = 64 };

/* Whether the first argument of `cluster` asks for one of the two, and is not a model. */
bool nb_cluster_is_of_nodes(const char *argument);

/* Runs the one that arguments[0] names on the URLs that follow it; on one URL, or the daemon of
 * --url, also on the members that it knows.
 * Returns 0, or a code: NB_CLIENT_USAGE; of a node that did not answer; and of `check` NB_CORRUPT:
 * they differ, or NB_CALL_BUSY: they are never at one number. */
int nb_cluster_nodes(const struct nb_client *client, char **arguments, size_t count,
                     struct nb_error *error);

#endif
