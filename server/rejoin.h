/* SPDX-License-Identifier: Apache-2.0
 *
 * A node that the stream does not reach any more: bayesd --join fetches the store of a peer into
 * the folder `join` of the data directory, as a process of its own, while this one goes on giving
 * verdicts from the old store. Then the daemon ends and begins anew with the new one. Main thread.
 */
#ifndef NB_SERVER_REJOIN_H
#define NB_SERVER_REJOIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/error.h"

struct nb_config;
struct nb_nodes;
struct nb_options;

struct nb_rejoin {
    const struct nb_config *config;
    pid_t child;   /* that fetches; 0: none */
    uint64_t next; /* not before */
    size_t tries;
    bool has_old; /* the store that was replaced is still there */
};

/* Puts the store that was fetched in force, if there is one (*replaced); it publishes what the old
 * one alone has (core/nodes/handover.h). No daemon runs on it. */
int nb_rejoin_put(const struct nb_config *config, bool *replaced, struct nb_error *error);
/* Before the store is opened: puts one that was fetched in force. `config` is borrowed. */
int nb_rejoin_begin(struct nb_rejoin *rejoin, const struct nb_config *config,
                    struct nb_error *error);
/* To be called every second; true: a store was fetched, and the daemon is to begin anew. */
bool nb_rejoin_look(struct nb_rejoin *rejoin, struct nb_nodes *nodes,
                    const struct nb_options *options);
/* What is being fetched is given up. */
void nb_rejoin_stop(struct nb_rejoin *rejoin);

#endif
