/* SPDX-License-Identifier: Apache-2.0
 *
 * A connection to NATS and one of the cluster's streams on it. For server/nodes alone, in a build
 * with the library.
 */
#ifndef NB_SERVER_NODES_STREAM_H
#define NB_SERVER_NODES_STREAM_H

#include <nats/nats.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/live/standing.h"

struct nb_config;

enum { NB_SUBJECT_MOST = 96 };

struct nb_stream {
    natsOptions *options;
    natsConnection *connection; /* NULL: not connected yet */
    jsCtx *context;
    char name[NB_STREAM_FULL_MOST + 1];
    char subject[NB_SUBJECT_MOST];
};

/* What the stream was last time it was asked for. */
struct nb_stream_state {
    uint64_t created, first, last;
    unsigned replicas; /* that it is to have, */
    unsigned copies;   /* and those of them that are whole */
};

/* NB_STOPPING with what went wrong: a later try may succeed. */
int nb_stream_error(natsStatus status, const char *what, struct nb_error *error);

/* Connects, for the stream with the number `which`; `on_ack` is called for each message that was
 * published, or not. Returns 0, or NB_STOPPING, or NB_INVALID (the configuration). */
int nb_stream_open(struct nb_stream *stream, const struct nb_config *config, unsigned which,
                   jsPubAckHandler on_ack, void *user, struct nb_error *error);
void nb_stream_close(struct nb_stream *stream);
bool nb_stream_is_connected(const struct nb_stream *stream);

/* A header of a message, borrowed; "" if it has none of that name. */
const char *nb_stream_header(natsMsg *message, const char *name);

/* Asks for the stream; makes it, if there is none, with `identity` as its description, which must
 * be that of the present one: NB_CONFLICT. Or NB_STOPPING. */
int nb_stream_find(struct nb_stream *stream, const struct nb_config *config, const char *identity,
                   struct nb_stream_state *state, struct nb_error *error);

/* The hash (nb_chain_hash) of the message at a position, as the leader has it. Returns 0,
 * NB_NOT_FOUND (it is gone) or NB_STOPPING. */
int nb_stream_hash(struct nb_stream *stream, uint64_t position, uint64_t *hash,
                   struct nb_error *error);

/* When the message at a position came into the stream, by the clock of NATS, in nanoseconds. As
 * nb_stream_hash. */
int nb_stream_time(struct nb_stream *stream, uint64_t position, int64_t *time,
                   struct nb_error *error);

/* Follows from the position on. */
int nb_stream_follow(struct nb_stream *stream, uint64_t from, natsSubscription **subscription,
                     struct nb_error *error);

#endif
