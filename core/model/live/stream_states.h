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

/* Reads what the store has, when it is opened. Returns 0 or a code. */
int nb_stream_states_read(struct nb_engine *engine, const struct nb_view *view,
                          struct nb_error *error);
/* Writes what is staged, if that is not in the store. In every transaction. Returns 0 or a code. */
int nb_stream_states_write(struct nb_engine *engine, const struct nb_view *view,
                           struct nb_error *error);
/* For a rebuild: copies the place as it is stored, the trace, what is queued, and which queued
 * changes the store has.
 * Returns 0 or a code; NB_CORRUPT: they are damaged. Any thread. */
int nb_stream_states_copy(const struct nb_view *from, struct nb_view *to, struct nb_error *error);
/* Frees what is staged. */
void nb_stream_states_deinit(struct nb_engine *engine);
/* Notes that the transaction succeeded. */
void nb_stream_states_note(struct nb_engine *engine);

/* Makes the store that of one of several nodes, which follows the stream `which`, made at `made`:
 * the next transaction writes it. */
void nb_stream_states_join(struct nb_engine *engine, unsigned which, uint64_t made);
/* The node has all that the stream had a moment ago: the next transaction writes that, too. */
void nb_stream_states_catch_up(struct nb_engine *engine, unsigned which);
/* Whether it had all, once, of each of the streams whose bits are set. Any thread. */
bool nb_stream_states_has_caught_up(const struct nb_engine *engine, uint64_t streams);

/* The sum of the positions that are stored. Any thread. */
uint64_t nb_stream_states_total(const struct nb_engine *engine);

/* Keeps what is staged, and puts that back: before what may fail, and when it has. */
void nb_stream_states_mark(struct nb_engine *engine);
void nb_stream_states_return(struct nb_engine *engine);

/* Stages the position of a change or a task, which begins; false: one before it is missing here, or
 * memory is, so that it must not be made now. True also if it is staged already. */
bool nb_stream_states_stage(struct nb_engine *engine, const struct nb_relayed *relayed);

/* The number of the model's first entry, by which all nodes know it. `view`: where it is looked up,
 * if that was not done before. Any thread. Returns 0, NB_DAMAGED or another code. */
int nb_stream_states_first_entry(struct nb_live *live, const struct nb_view *view,
                                 uint64_t *first_entry, struct nb_error *error);

/* Whether a change from the stream is for this model. An unsaved model that the change makes gets
 * the settings that the change says: a trainer of this node may have made it unsaved with others.
 * Returns 0; NB_NOT_FOUND or NB_DAMAGED; or another code, which is no answer. */
int nb_stream_states_check(const struct nb_relayed *relayed, struct nb_live *live,
                           const struct nb_view *view, struct nb_error *error);

/* The time of what is being made: that of the change, or the clock's. */
int64_t nb_stream_states_time(const struct nb_engine *engine);

/* Notes the change as made, if a node had queued it (core/nodes/queue.h): of each outbox the store
 * has the number of the entry that was made last, of each stream for itself, in the transaction
 * that makes it. So one that is published twice, however long after, is made once, by all nodes
 * alike. NB_EXISTS: it, or a later one of its outbox, was made at another position. Other codes: of
 * the store. */
int nb_once_note(struct nb_view *view, const struct nb_relayed *relayed, struct nb_error *error);

#endif
