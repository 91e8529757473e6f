/* SPDX-License-Identifier: Apache-2.0
 *
 * The table `member`: what the nodes tell each other of themselves, by which follows what nobody
 * needs of the changes any more. What was read last is for any thread; the other functions are for
 * a thread with a connection of its own: a worker's, or that of --join.
 */
#ifndef NB_SERVER_NODES_MEMBER_H
#define NB_SERVER_NODES_MEMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "core/model/live/relayed.h"
#include "server/nodes/stream_worker.h"

enum {
    NB_MEMBER_URL_MOST = 255,
    NB_MEMBER_VERSION_MOST = 31,
    NB_MEMBERS_MOST = 1000 /* of a database */
};

struct nb_config;

/* What a node tells of itself. */
struct nb_member {
    char name[NB_MEMBER_NAME_MOST + 1];
    char url[NB_MEMBER_URL_MOST + 1];         /* "": it tells none */
    char version[NB_MEMBER_VERSION_MOST + 1]; /* of its program */
    unsigned tokenizer, apply, kinds;         /* versions; operations that it knows */
    uint64_t applied; /* positions in all, of the streams that this node follows, too */
    uint64_t streams; /* a bit for each */
    bool is_self;
    int same;        /* it has learned the same: 1 or 0, -1: it is not known */
    int64_t silence; /* nanoseconds since its last word */
};

/* The name of this node: of the configuration, or of the machine and the port. */
void nb_member_name(const struct nb_config *config, char name[NB_MEMBER_NAME_MOST + 1]);
/* Says that the node has come so far in the stream: what is behind that is not cut, from then on.
 * `digested`: nb_replica_digested. Returns as nb_database_run. */
int nb_member_announce(struct nb_database *database, const struct nb_config *config,
                       unsigned stream, uint64_t applied, struct nb_point digested,
                       struct nb_error *error);
/* Announces this node, reads what the others say, and cuts what nobody needs, if it is time.
 * Returns as nb_database_run. */
int nb_member_round(struct nb_stream_worker *worker, struct nb_error *error);

/* All members, as they were read last; the caller frees *members. Returns 0 or NB_NO_MEMORY. */
int nb_nodes_members(struct nb_nodes *nodes, struct nb_member **members, size_t *count,
                     struct nb_error *error);
/* Whether all of them know a kind of operations; if not, `name` is that of one that does not. */
bool nb_member_all_know(struct nb_nodes *nodes, unsigned kind, char name[NB_MEMBER_NAME_MOST + 1]);
/* For struct nb_server: URLs of nodes that have the model, who were heard of a short time ago
 * first; each with a NUL, `most` bytes at most. */
int nb_nodes_list_followers(struct nb_nodes *nodes, struct nb_string model, size_t most,
                            struct nb_buffer *urls);

#endif
