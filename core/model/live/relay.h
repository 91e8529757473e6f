/* SPDX-License-Identifier: Apache-2.0
 *
 * Where changes go when several nodes share them: they are published in one order for all nodes,
 * and every node, this one too, applies them in that order. Without a relay (NULL) nothing of this
 * is in the way.
 *
 * An engine that is opened with the setting `shared` begins without one for each stream, so that
 * all changes are refused, and gets them when it has found the others. The functions of a relay
 * (struct nb_relay) are called by any thread, `propose` and `propose_relayed_change` by the
 * writer's; what it has no function for is refused. It must stay as long as anybody uses the
 * engine.
 */
#ifndef NB_CORE_MODEL_LIVE_RELAY_H
#define NB_CORE_MODEL_LIVE_RELAY_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/base/string.h"

struct nb_batch;
struct nb_engine;
struct nb_relayed_change;
struct nb_relayed_change_done;
struct nb_relayed;

/* Which of so many streams has the changes of what bears this name: all nodes say the same. */
unsigned nb_relay_stream(struct nb_string name, unsigned streams);

/* What clients are told of a position in a stream: it says which stream, too, and is the position
 * where there is one. And back. */
uint64_t nb_relay_number(const struct nb_engine *engine, unsigned stream, uint64_t position);
uint64_t nb_relay_position(const struct nb_engine *engine, uint64_t number, unsigned *stream);

/* Whether the calling thread has to publish changes instead of making them. */
bool nb_relay_is_wanted(const struct nb_engine *engine);

/* The functions of the relay of the model's stream. Without one NB_STOPPING, which says so, and
 * nothing is proposed. */
int nb_relay_submit(const struct nb_engine *engine, struct nb_string model, struct nb_batch *batch,
                    void (*done)(struct nb_batch *, void *), void *user, struct nb_error *error);
int nb_relay_refuse(struct nb_error *error);
/* *done, which may be NULL, is written on success. */
int nb_relay_ask(const struct nb_engine *engine, const struct nb_relayed_change *relayed_change,
                 struct nb_relayed_change_done *done, struct nb_error *error);
void nb_relay_propose(const struct nb_engine *engine, struct nb_string model,
                      const struct nb_batch *batch);
void nb_relay_propose_relayed_change(const struct nb_engine *engine,
                                     const struct nb_relayed_change *relayed_change);

/* Waits until this node has made all changes that any node has confirmed before: for what is done
 * to documents that are looked for here. Nothing to wait for without a relay. `model` is the one
 * that it is about. Returns 0, or the code of the relay. */
int nb_relay_catch_up(const struct nb_engine *engine, struct nb_string model,
                      struct nb_error *error);

/* What a change is told of a model that is not here: another node may have made it. Returns 0: no
 * node has it, as far as this one can know; or NB_STOPPING: this node is away from the others, or
 * behind. Waits for nothing. */
int nb_relay_check_missing(const struct nb_engine *engine, struct nb_string model,
                           struct nb_error *error);

/* Says that the calling thread applies what came from the stream at this position: what it asks of
 * the engine is done here. NULL: no more. Borrowed. */
void nb_relay_apply(const struct nb_relayed *relayed);
/* What it applies, or NULL. */
const struct nb_relayed *nb_relay_applied(void);

/* From now on *number is set to the place in the stream of each change that the calling thread has
 * asked for and that is made: in the end it is that of the last one. NULL: no more. Borrowed. */
void nb_relay_collect(uint64_t *number);
/* Sets it, unless it is higher already. 0: a change that has no place. */
void nb_relay_collected(uint64_t position);

#endif
