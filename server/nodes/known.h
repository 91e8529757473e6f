/* SPDX-License-Identifier: Apache-2.0
 *
 * What is known of the members of a cluster, for those who ask this node: the list that the thread
 * of the members has read last. Any thread.
 */
#ifndef NB_SERVER_NODES_KNOWN_H
#define NB_SERVER_NODES_KNOWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"
#include "server/nodes/member.h"

struct nb_known;
struct nb_nodes;

struct nb_known_member {
    struct nb_member said;
    bool is_self;
    int agrees; /* nb_replica_agrees; of this node itself 1, unless it is astray */
    int same;   /* it has learned the same, as of the digests compared last: as `agrees` */
    int8_t same_in[NB_STREAMS_MOST]; /* the same of each stream */
    int64_t silence;                 /* nanoseconds since its last word */
};

/* NULL: there is no memory. */
struct nb_known *nb_known_new(void);
void nb_known_free(struct nb_known **known);

/* The list was read; members who have been silent for longer than `ages` knows are left out.
 * Returns 0 or NB_NO_MEMORY. By one thread. */
int nb_known_set(struct nb_known *known, struct nb_nodes *nodes, const struct nb_member *members,
                 size_t count, const char *self, const struct nb_member_ages *ages);

/* Copies what is known now; the caller frees *members. Empty before the first list was read, and in
 * a build without the library. Returns 0 or NB_NO_MEMORY. */
int nb_nodes_members(struct nb_nodes *nodes, struct nb_known_member **members, size_t *count,
                     struct nb_error *error);

/* For struct nb_server: those whose URL is known, and who were heard of a short time ago first. */
int nb_nodes_list_followers(struct nb_nodes *nodes, struct nb_string model, size_t most,
                            struct nb_buffer *urls);

/* Whether each member that has the model has the other one; unless it is a copy of that also the
 * reverse. 0, or NB_CONFLICT, which names one where it is not so. Or NB_NO_MEMORY. */
int nb_nodes_check_pair(struct nb_nodes *nodes, struct nb_string model, struct nb_string other,
                        bool is_copy, struct nb_error *error);

#endif
