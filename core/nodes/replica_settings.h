/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NB_CORE_NODES_REPLICA_SETTINGS_H
#define NB_CORE_NODES_REPLICA_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/base/string.h"

struct nb_queue;

struct nb_replica_settings {
    /* Publishes a message; of several messages with the same id the stream takes one. Returns 0
     * when the message is on its way: it is delivered, or given up after `patience` unless it
     * `lasts`. Else returns a code: the message was not sent. Any thread. */
    int (*publish)(void *user, const char *id, struct nb_string message, bool lasts,
                   struct nb_error *error);
    /* Sets *last to the end of the stream, or to a later one. Returns 0 or NB_STOPPING. Any thread
     * but the follower's. */
    int (*look)(void *user, uint64_t *last, struct nb_error *error);
    /* Whether the stream can be reached; sets *last to its end, as far as known. Does not wait. Any
     * thread. */
    bool (*is_there)(void *user, uint64_t *last);
    /* Passes on something that the administrator should know. Follower's thread. */
    void (*warn)(void *user, const struct nb_error *why);
    void *user;
    unsigned stream;        /* index of the stream that the replica follows */
    size_t message_most;    /* bytes of a message */
    uint64_t seed;          /* different for each node */
    struct nb_queue *queue; /* borrowed; NULL: changes that cannot be published are refused */
    uint64_t patience;      /* nanoseconds that a client waits for its change to come back */
    /* Milliseconds, above 0, during which nodes that find the same work due publish it with the
     * same id. */
    int64_t same_for;
    /* Nanoseconds after which the nodes compare what they have learned (replica.c); 0: they do
     * not. */
    uint64_t compare_every;
};

#endif
