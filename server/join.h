/* SPDX-License-Identifier: Apache-2.0
 *
 * A node takes over the store of another node: by hand (bayesd --join), or by itself, when the
 * stream no longer reaches back to its position. bayesc fetches the other node's backup, since it
 * has HTTP, TLS and access tokens. While a daemon gives verdicts from the old store, a process
 * bayesd --join fetches the new one into the folder `join` of the data directory; then the daemon
 * restarts with it. Main thread.
 */
#ifndef NB_SERVER_JOIN_H
#define NB_SERVER_JOIN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/error.h"

struct nb_config;
struct nb_nodes;
struct nb_options;

/* Announces to the other nodes that this one joins, and fetches the store of the node at the URL
 * `peer`. If this node has a store, which no daemon may use, the new one replaces it, and publishes
 * the changes that only the old one has (core/nodes/replica.h). Returns 0, a code of
 * nb_engine_restore_node, or NB_IO: bayesc has failed, and printed why. */
int nb_join(const struct nb_config *config, const char *peer, struct nb_error *error);

/* The state of a daemon that takes over another store when it needs one. */
struct nb_rejoin {
    const struct nb_config *config;
    const char *peer; /* the part of [nodes] peers that begins with the next peer to ask */
    pid_t child;      /* the process that fetches; 0: none */
    uint64_t next;    /* earliest time of the next attempt (nb_clock_monotonic) */
};
/* Puts a fetched store in force. To be called before the store is opened. `config` is borrowed. */
int nb_rejoin_begin(struct nb_rejoin *rejoin, const struct nb_config *config,
                    struct nb_error *error);
/* Fetches a store if it is needed; to be called every second. Returns true when one was fetched:
 * the daemon must restart. */
bool nb_rejoin_look(struct nb_rejoin *rejoin, struct nb_nodes *nodes,
                    const struct nb_options *options);
void nb_rejoin_stop(struct nb_rejoin *rejoin);

#endif
