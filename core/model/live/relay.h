/* SPDX-License-Identifier: Apache-2.0
 *
 * The relay takes changes to the other nodes when several nodes share them. Changes are published
 * in one order for all nodes, and every node, including this one, applies them in that order. If
 * changes are not shared, relays are NULL and cost nothing.
 *
 * An engine that is opened with the setting `shared` begins without relays, so that all changes are
 * refused, and gets one for each stream that it follows. A relay must outlive all use of the
 * engine. Any thread calls the functions; `propose` is for the writer's thread alone.
 */
#ifndef NB_CORE_MODEL_LIVE_RELAY_H
#define NB_CORE_MODEL_LIVE_RELAY_H

#include "core/model/live/relayed.h"

/* Returns the stream, of `streams`, for changes of the model with this name. It is the same on all
 * nodes. */
unsigned nb_relay_stream(struct nb_string name, unsigned streams);

/* Convert a position in a stream to the number that clients get, and back. The number includes the
 * stream; with one stream it equals the position. */
uint64_t nb_relay_number(const struct nb_engine *engine, unsigned stream, uint64_t position);
uint64_t nb_relay_position(const struct nb_engine *engine, uint64_t number, unsigned *stream);

/* Whether the calling thread has to publish changes instead of making them. */
bool nb_relay_is_wanted(const struct nb_engine *engine);

/* Call the relay of the model's stream. Without a relay they return NB_STOPPING, with a text that
 * says so, and propose nothing. */
int nb_relay_submit(const struct nb_engine *engine, struct nb_string model, struct nb_batch *batch,
                    void (*done)(struct nb_batch *, void *), void *user, struct nb_error *error);
/* Sets *done (may be NULL) on success. */
int nb_relay_ask(const struct nb_engine *engine, const struct nb_relayed_change *relayed_change,
                 struct nb_relayed_change_done *done, struct nb_error *error);
void nb_relay_propose(const struct nb_engine *engine, struct nb_string model,
                      const struct nb_batch *batch, const struct nb_relayed_change *relayed_change);

/* Waits until this node has made all changes to `model` that any node has confirmed before. Needed
 * before changes to documents that are looked up on this node. Does nothing if changes are not
 * shared. Returns 0, or the code of the relay. */
int nb_relay_catch_up(const struct nb_engine *engine, struct nb_string model,
                      struct nb_error *error);

/* Checks whether another node may have made a model that is missing here. Returns 0 if no node has
 * it, as far as this node can know; or NB_STOPPING if this node is cut off from the others, or
 * behind. Does not wait. */
int nb_relay_check_missing(const struct nb_engine *engine, struct nb_string model,
                           struct nb_error *error);

/* Notes that the calling thread applies this change from the stream: the engine then makes the
 * thread's changes itself instead of publishing them. NULL: ends this. Borrowed. */
void nb_relay_apply(const struct nb_relayed *relayed);
/* The change that the calling thread applies, or NULL. */
const struct nb_relayed *nb_relay_applied(void);

/* From now on sets *number to the number (nb_relay_number) of each change that the calling thread
 * requests, once the change is made; the highest one stays. NULL: ends this. Borrowed. */
void nb_relay_collect(uint64_t *number);
/* Sets the collected number, unless it is higher already. 0: the change has no position in a
 * stream. */
void nb_relay_collected(uint64_t position);

#endif
