/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether this node was given what the others were (chain.h). What comes from another node is
 * compared before it is applied; where the chains differ, the leader of the stream says who is
 * right: who is not must not follow any further. While nobody publishes, nodes tell their chains by
 * messages that change nothing, two for all that was changed before, or some more: each node waits
 * for a time of its own, unless others have told theirs. On the follower's thread.
 */
#ifndef NB_CORE_REPLICA_ATTEST_H
#define NB_CORE_REPLICA_ATTEST_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"

struct nb_replica;
struct nb_witness;

/* Where the node begins: what its store says. */
void nb_attest_begin(struct nb_replica *replica);

/* Compares what the sender of the message at `position`, the next one, had been given. `differs`
 * says that it was something else, and that this node is right. Returns 0, NB_CONFLICT: this node
 * is not; or NB_STOPPING: the stream does not answer. */
int nb_attest_judge(struct nb_replica *replica, const struct nb_witness *witness, uint64_t position,
                    bool *differs, struct nb_error *error);

/* Compares some thousand recent messages at most with those of the stream's leader, before the node
 * begins to follow. Returns as nb_attest_judge. */
int nb_attest_verify(struct nb_replica *replica, struct nb_error *error);

/* Something else says that this node may have been given what the stream does not have. Returns 0,
 * NB_CONFLICT: it was, NB_TOO_LARGE, or NB_STOPPING: the stream does not answer. */
int nb_attest_doubt(struct nb_replica *replica);

/* The message at the position was delivered; others are told about it when the stream is quiet, if
 * it is `news`. */
void nb_attest_note(struct nb_replica *replica, uint64_t position, bool news);
/* Tells a node that differs, if that has not been done lately. */
void nb_attest_answer(struct nb_replica *replica);
/* Tells the others, if it is time. */
void nb_attest_tick(struct nb_replica *replica, uint64_t now);

#endif
