/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NB_CORE_REPLICA_REPLICA_SETTINGS_H
#define NB_CORE_REPLICA_REPLICA_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/base/string.h"
#include "core/chain/chain.h"

struct nb_queue;

struct nb_replica_settings {
    /* Publishes a message and the witness with it; the stream takes one of two that have the same
     * id and come soon after each other. Returns 0 when it is on its way: then it is delivered, or
     * nb_replica_refuse is called, or neither, if nobody knows. Else a code: it was not sent. Any
     * thread. */
    int (*publish)(void *user, const char *id, const struct nb_witness *witness,
                   struct nb_string message, struct nb_error *error);
    /* The nb_chain_hash of the message at a position, as the leader of the stream has it. Returns
     * 0, NB_NOT_FOUND or NB_STOPPING. Follower. */
    int (*hash_at)(void *user, uint64_t position, uint64_t *hash, struct nb_error *error);
    /* Something that who runs this should know. Follower. */
    void (*warn)(void *user, const struct nb_error *why);
    void *user;
    /* Patterns of the models that this node has, at most NB_FOLLOW_MOST bytes; borrowed. NULL or
     * empty: all. What is asked of the others passes by. */
    const char *follow;
    bool (*matches)(const char *follow, struct nb_string model);
    /* Before a model of this node gets a parent, or becomes a copy of another one (is_copy), which
     * this node has as well: 0, or why that is not asked for, because another node has the model
     * alone, or the parent alone. NULL: it is. Any thread. */
    int (*check_pair)(void *user, struct nb_string model, struct nb_string other, bool is_copy,
                      struct nb_error *error);
    unsigned stream;        /* which of the engine's `streams` it follows */
    size_t message_most;    /* bytes of a message */
    uint64_t member;        /* of struct nb_witness */
    struct nb_queue *queue; /* borrowed; NULL: what cannot be published is refused */
    uint64_t patience;      /* nanoseconds that a client waits for its change to come back */
    /* Milliseconds, above 0, in which nodes that find the same publish it with the same id: much
     * less than the stream knows ids, since its servers forget them at different times. */
    int64_t same_for;
    /* Nanoseconds after which the nodes compare what they have learned (compare.h); 0: they do
     * not. */
    uint64_t compare_every;
};

#endif
