/* SPDX-License-Identifier: Apache-2.0
 *
 * A node that has a part of the models, by their names: what the stream has for others passes by.
 * Such messages are chained like all; the position behind them is stored now and then, by one
 * transaction for many. On the follower's thread, except where a function says otherwise.
 */
#ifndef NB_CORE_REPLICA_PART_H
#define NB_CORE_REPLICA_PART_H

#include <stdbool.h>

#include "core/base/error.h"
#include "core/base/string.h"

struct nb_errand;
struct nb_operation;
struct nb_relayed;
struct nb_replica;

/* Whether this node has models of the name. Any thread. */
bool nb_part_has(const struct nb_replica *replica, struct nb_string model);

/* The same as a code: 0 or NB_ELSEWHERE. Any thread. */
int nb_part_check_model(const struct nb_replica *replica, struct nb_string model,
                        struct nb_error *error);

/* What is asked of this node: 0; NB_ELSEWHERE: it does not have the model, or the one that this is
 * to be a child or a copy of; or another code, which says why no node is asked. Any thread. */
int nb_part_check(const struct nb_replica *replica, const struct nb_errand *errand,
                  struct nb_error *error);

/* Whether the operation is for this node: *passes_by is set if not. Returns 0; NB_STOPPING:
 * there is no memory; NB_VERSION: it ties a model that this node has to one that it does not have,
 * so that the node cannot know what the others make of it, and must not follow any further. */
int nb_part_judge(const struct nb_replica *replica, const struct nb_operation *operation,
                  bool *passes_by, struct nb_error *error);

/* The message passes by; *here is where. Returns 0 or NB_STOPPING. */
int nb_part_pass(struct nb_replica *replica, const struct nb_relayed *here);
/* Stores the position behind what has passed by, if it is not stored yet. Returns 0 or
 * NB_STOPPING. */
int nb_part_store(struct nb_replica *replica);

#endif
