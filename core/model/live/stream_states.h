/* SPDX-License-Identifier: Apache-2.0
 *
 * How far a store has come in the streams of changes that several nodes share. The position in a
 * stream is stored in the transaction that makes the change, so that each change is made exactly
 * once, no matter when a node dies. On the writer's thread, except where a function says otherwise.
 */
#ifndef NB_CORE_MODEL_LIVE_STREAM_STATES_H
#define NB_CORE_MODEL_LIVE_STREAM_STATES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/base/string.h"
#include "core/model/live/relayed.h"

struct nb_engine;
struct nb_live;
struct nb_view;

enum { NB_TRACE_BYTES = 64 << 20 }; /* bytes of a stream's last messages that are kept */

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

/* Stages the position of a change or a task that begins. Returns false if the change must not be
 * made now, because an earlier one is missing here, or if memory runs out. Returns true also if the
 * position is staged already. */
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

/* Returns the time of the change that is being made; without one, the time of the clock. */
int64_t nb_stream_states_time(const struct nb_engine *engine);

/* Notes a change as made if a node had queued it (core/nodes/queue.h). For each outbox and stream
 * the store has the number of the last entry that was made; it is written in the transaction that
 * makes the change. So a change that is published twice, however long after, is made only once, on
 * all nodes. Returns NB_EXISTS if this change, or a later one of its outbox, was made at another
 * position; or a code of the store. */
int nb_once_note(struct nb_view *view, const struct nb_relayed *relayed, struct nb_error *error);

/* ---- messages -------------------------------------------------------------------------------- */

/* Messages of the streams that a store keeps unchanged, ordered by number. The trace has the last
 * messages that were applied, numbered by position, so that nodes can restore messages that the
 * database loses (server/nodes/stream.c). The queue has the waiting ones (core/nodes/queue.h).
 * Parts of imports wait for the last one (core/archive/dump/parts.h). On the writer's thread; any
 * thread may read.
 *
 * Stored form, in META under "trace", "queue" or "parts", a byte of the stream and the number (8
 * bytes, big-endian): the checksum, 8 bytes; the id, a string; the message. */
enum nb_kept { NB_KEPT_TRACE, NB_KEPT_QUEUE, NB_KEPT_PART, NB_KEPT_ONCE /* nb_once_note */ };

/* The checksum of a message and its id. */
uint64_t nb_message_checksum(struct nb_string id, struct nb_string message);

/* Both return 0 or a code of the store. */
int nb_message_put(const struct nb_view *view, enum nb_kept where, unsigned stream,
                   const struct nb_traced *one, struct nb_error *error);
int nb_message_delete(const struct nb_view *view, enum nb_kept where, unsigned stream,
                      uint64_t number, struct nb_error *error);
/* Deletes the first `most` messages. */
int nb_message_drop(const struct nb_view *view, enum nb_kept where, unsigned stream, size_t most,
                    struct nb_error *error);

/* Calls `visit` with each message from the number `from` on, in order. Stops when `visit` returns
 * non-zero, and returns that; else 0, NB_CORRUPT or a code of the store. */
typedef int nb_message_visit(void *user, const struct nb_traced *one, struct nb_error *error);
int nb_message_walk(const struct nb_view *view, enum nb_kept where, unsigned stream, uint64_t from,
                    nb_message_visit *visit, void *user, struct nb_error *error);
/* As nb_message_walk, in a snapshot of its own. */
int nb_message_scan(struct nb_engine *engine, enum nb_kept where, unsigned stream, uint64_t from,
                    nb_message_visit *visit, void *user, struct nb_error *error);

#endif
