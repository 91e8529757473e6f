/* SPDX-License-Identifier: Apache-2.0
 *
 * The nodes of several, as one node knows them: for bayesc nodes status and check.
 */
#ifndef NB_CLIENT_NODES_MEMBERS_H
#define NB_CLIENT_NODES_MEMBERS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/error.h"
#include "server/client/base/client.h"

enum { NB_NODES_MEMBERS_MOST = 1000 };

struct nb_listed_node {
    const char *url; /* borrowed; NULL: it tells none */
    bool is_asked;
    const json_t *member;   /* borrowed: what another node has heard of it; NULL: nothing */
    json_t *ready, *digest; /* owned; NULL: it has not said it */
    json_t *digests;        /* owned, a list: of each stream; NULL: of none */
    struct nb_error why;
};

/* GETs a path of the node. Returns as nb_call_once. */
int nb_nodes_ask(const struct nb_client *client, const char *url, const char *path, json_t **value,
                 struct nb_error *error);

/* Sets *nodes to the node at the URL, then all members that it knows: those without an URL last,
 * and *count. *reply, which may become NULL, has their texts; both are the caller's to free. A node
 * that does not say who is there is alone in the list. Returns 0 or NB_NO_MEMORY. */
int nb_nodes_find(const struct nb_client *client, const char *url, struct nb_listed_node **nodes,
                  size_t *count, json_t **reply, struct nb_error *error);

#endif
