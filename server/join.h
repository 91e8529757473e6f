/* SPDX-License-Identifier: Apache-2.0
 *
 * A node takes the store of another one: by hand (bayesd --join), or by itself, when the stream
 * does not reach it any more. The other's backup is fetched by bayesc, which knows HTTP, TLS and
 * access tokens; the daemon links none of that. While a daemon gives verdicts from the old store, a
 * process bayesd --join fetches the new one into the folder `join` of the data directory; then the
 * daemon ends and begins anew with it. Main thread.
 */
#ifndef NB_SERVER_JOIN_H
#define NB_SERVER_JOIN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/error.h"

struct nb_config;
struct nb_engine_settings;
struct nb_nodes;
struct nb_options;

/* Tells the other nodes that this one begins, and puts the store of the node at the URL `peer` into
 * the directory of the settings, which is empty; *position is its place in the streams. Returns 0
 * or a code, with the directory empty: those of nb_engine_restore_node, or NB_IO: bayesc has
 * failed, and said why on standard error. */
int nb_join(const struct nb_engine_settings *settings, const struct nb_config *config,
            const char *peer, uint64_t *position, struct nb_error *error);
/* Puts the store that was fetched in force, if there is one (*replaced); it publishes what the old
 * one alone has (core/nodes/queue.h). No daemon runs on it. */
int nb_join_put(const struct nb_config *config, bool *replaced, struct nb_error *error);

/* Of a daemon. */
struct nb_rejoin {
    const struct nb_config *config;
    const char *peer; /* the rest of [nodes] peers, whose turn it is */
    pid_t child;      /* that fetches; 0: none */
    uint64_t next;    /* not before, by nb_clock_monotonic */
    bool has_old;     /* the store that was replaced is still there */
};
/* Before the store is opened: puts one that was fetched in force. `config` is borrowed. */
int nb_rejoin_begin(struct nb_rejoin *rejoin, const struct nb_config *config,
                    struct nb_error *error);
/* To be called every second; true: a store was fetched, and the daemon is to begin anew. */
bool nb_rejoin_look(struct nb_rejoin *rejoin, struct nb_nodes *nodes,
                    const struct nb_options *options);
/* What is being fetched is given up. */
void nb_rejoin_stop(struct nb_rejoin *rejoin);

#endif
