/* SPDX-License-Identifier: Apache-2.0
 *
 * How far a store has come in the streams of changes that several nodes share. The position in a
 * stream is stored in the transaction that makes the change, so that each change is made once,
 * whenever a node dies. On the writer's thread, except where a function says otherwise.
 */
#ifndef NB_CORE_MODEL_LIVE_STREAM_STATES_H
#define NB_CORE_MODEL_LIVE_STREAM_STATES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/base/string.h"
#include "core/model/live/relayed.h"

enum { NB_TRACE_BYTES = 64 << 20 }; /* of the last messages of a stream (messages.h) */

struct nb_engine;
struct nb_live;
struct nb_view;

/* Reads the stored states when the store is opened. Returns 0 or a code. */
int nb_stream_states_read(struct nb_engine *engine, const struct nb_view *view,
                          struct nb_error *error);
/* Writes the staged states that are not in the store yet. Called in every transaction. Returns 0 or
 * a code. */
int nb_stream_states_write(struct nb_engine *engine, const struct nb_view *view,
                           struct nb_error *error);
/* For a rebuild: copies the stored states, the trace, the queue, parts of imports, and the notes of
 * queued changes that were made. Returns 0 or a code; NB_CORRUPT: they are damaged. Any thread. */
int nb_stream_states_copy(const struct nb_view *from, struct nb_view *to, struct nb_error *error);
/* Frees the staged messages. */
void nb_stream_states_deinit(struct nb_engine *engine);
/* Notes that the transaction succeeded. */
void nb_stream_states_note(struct nb_engine *engine);

/* Makes the store one of several nodes' stores, which follows the stream `which` that was made at
 * `made`. The next transaction writes this. */
void nb_stream_states_join(struct nb_engine *engine, unsigned which, uint64_t made);
/* Notes that the node has all changes that the stream had a moment ago. The next transaction writes
 * this, too. */
void nb_stream_states_catch_up(struct nb_engine *engine, unsigned which);
/* Whether the node once had all changes of each stream whose bit is set. Any thread. */
bool nb_stream_states_has_caught_up(const struct nb_engine *engine, uint64_t streams);

/* The sum of the stored positions. Any thread. */
uint64_t nb_stream_states_total(const struct nb_engine *engine);

/* Save the staged states before work that may fail, and restore them when it has failed. */
void nb_stream_states_mark(struct nb_engine *engine);
void nb_stream_states_return(struct nb_engine *engine);

/* Stages the position of a change or a task that begins. Returns false if it must not be made now,
 * because an earlier one is missing here, or for lack of memory. Returns true also if it is staged
 * already. */
bool nb_stream_states_stage(struct nb_engine *engine, const struct nb_relayed *relayed);

/* Sets *first_entry to the number of the model's first entry, by which all nodes identify the
 * model. Looks it up in `view`, unless that was done before. Any thread. Returns 0, NB_DAMAGED or
 * another code. */
int nb_stream_states_first_entry(struct nb_live *live, const struct nb_view *view,
                                 uint64_t *first_entry, struct nb_error *error);

/* Checks whether a change from the stream is for this model. If the change makes the model, and a
 * trainer of this node has made it unsaved with other settings, it gets the settings of the change.
 * Returns 0; NB_NOT_FOUND or NB_DAMAGED if it is not; or another code if the check failed. */
int nb_stream_states_check(const struct nb_relayed *relayed, struct nb_live *live,
                           const struct nb_view *view, struct nb_error *error);

/* The time of the change that is being made, or that of the clock. */
int64_t nb_stream_states_time(const struct nb_engine *engine);

/* Notes a change as made if a node had queued it (core/nodes/queue.h). For each outbox and stream
 * the store has the number of the last entry that was made; it is written in the transaction that
 * makes the change. So a change that is published twice, however long after, is made only once, on
 * all nodes. Returns NB_EXISTS if this change, or a later one of its outbox, was made at another
 * position; or a code of the store. */
int nb_once_note(struct nb_view *view, const struct nb_relayed *relayed, struct nb_error *error);

#endif
