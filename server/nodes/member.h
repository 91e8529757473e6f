/* SPDX-License-Identifier: Apache-2.0
 *
 * The table `member`, in which each node reports about itself. From these reports a node knows
 * which changes no node needs any more. Any thread may ask for the reports read last; the other
 * functions are for a thread with its own connection: a worker or --join.
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
    NB_MEMBERS_MOST = 1000 /* most members in a database */
};

struct nb_config;

/* A node's report about itself. */
struct nb_member {
    char name[NB_MEMBER_NAME_MOST + 1];
    char url[NB_MEMBER_URL_MOST + 1];         /* "": none given */
    char version[NB_MEMBER_VERSION_MOST + 1]; /* of the program */
    uint64_t applied; /* sum of the member's positions in the streams that this node follows */
    uint64_t streams; /* streams that the member follows: a bit for each */
    bool is_self;
    int same; /* 1: the member has learned the same as this node, 0: it has not, -1: unknown */
    int64_t silence; /* nanoseconds since the member's last report */
};

/* Gives the name of this node: the configured one, or one made of the machine's name and the port.
 */
void nb_member_name(const struct nb_config *config, char name[NB_MEMBER_NAME_MOST + 1]);
/* Reports this node's position in the stream; from then on no node deletes changes after this
 * position. `digested` is as in struct nb_replica. Returns the codes of nb_database_run. */
int nb_member_announce(struct nb_database *database, const struct nb_config *config,
                       unsigned stream, uint64_t applied, struct nb_point digested,
                       struct nb_error *error);
/* If it is time, reports about this node, reads the reports of the other nodes, and deletes changes
 * that no node needs. Returns the codes of nb_database_run. */
int nb_member_round(struct nb_stream_worker *worker, struct nb_error *error);

/* Returns all members as they were read last; the caller frees *members. Returns 0 or NB_NO_MEMORY.
 */
int nb_nodes_members(struct nb_nodes *nodes, struct nb_member **members, size_t *count,
                     struct nb_error *error);
/* For struct nb_server: lists URLs of nodes that have the model and have reported lately; each ends
 * with a NUL, all together have at most `most` bytes. */
int nb_nodes_list_followers(struct nb_nodes *nodes, struct nb_string model, size_t most,
                            struct nb_buffer *urls);

#endif
