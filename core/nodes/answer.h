/* SPDX-License-Identifier: Apache-2.0
 *
 * Answers to clients of this node whose operations come back, or do not. They take the lock, except
 * where a function says otherwise. Any thread.
 */
#ifndef NB_CORE_NODES_ANSWER_H
#define NB_CORE_NODES_ANSWER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/base/string.h"

struct nb_awaited;
struct nb_errand_done;
struct nb_replica;
struct nb_sent;

/* One change of the batch has its answer. Returns the batch's record if it was the last: then the
 * caller ends it, without the lock. With the lock held. */
struct nb_sent *nb_answer_count_down(struct nb_sent *sent);
/* Gives the batch back to its client. NULL: nothing. Without the lock. */
void nb_answer_end(struct nb_sent *sent);

/* A change that was given back to its client's batch, or an errand, is on the disk: ends the wait.
 * Returns as nb_answer_count_down. With the lock held. */
struct nb_sent *nb_answer_applied(struct nb_replica *replica, struct nb_awaited *awaited);

/* The operation of this id will not come: its client, if there is one, is told why. */
void nb_answer_refuse(struct nb_replica *replica, struct nb_string id, const struct nb_error *why);
/* So are all that have waited until `now`. */
void nb_answer_expire(struct nb_replica *replica, uint64_t now, const struct nb_error *why);
/* The result of what was delivered and is no change that the writer has. Takes `awaited`, or NULL:
 * nobody waits. `done` NULL: it was not made, and `why` says why. */
void nb_answer_errand(struct nb_replica *replica, struct nb_awaited *awaited,
                      const struct nb_errand_done *done, const struct nb_error *why);

#endif
