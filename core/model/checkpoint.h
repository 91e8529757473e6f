/* SPDX-License-Identifier: Apache-2.0
 *
 * Checkpoints. The counts, which follow from the ledger, are stored as ranges of rows, in slices of
 * bounded size. A sweep passes once over all ranges of a model and writes the dirty ones. After a
 * sweep, no entry from before its beginning needs to be replayed, and superseded entries from that
 * time are dropped.
 *
 * Models with entries that a start would replay are in a list, oldest first (`unsaved`). The bound
 * of a replay, `replay_features`, is for all models together. When half of it is reached, each
 * commit also writes slices of the oldest model; when the writer is idle, it saves all of them.
 *
 * On the writer's thread.
 */
#ifndef NB_CORE_MODEL_CHECKPOINT_H
#define NB_CORE_MODEL_CHECKPOINT_H

#include "core/ledger/bag_coding.h"
#include "core/model/live.h"
#include "core/model/state.h"

/* The state record of the model, from memory, with `last` as its newest entry. */
struct nb_state_record nb_checkpoint_state(const struct nb_live *live, uint64_t last);

/* Writes up to `most` dirty ranges of the running sweep into the transaction, and begins a sweep if
 * none is running. Sets *written. Returns 0 or a code. If the transaction is not committed, the
 * caller calls nb_checkpoint_restore with a copy of the checkpoint from before. */
int nb_checkpoint_slice(struct nb_engine *engine, struct nb_view *view, struct nb_live *live,
                        uint32_t most, uint32_t *written, struct nb_error *error);
/* Writes a range of rows into the transaction. Returns 0 or a code. */
int nb_checkpoint_put_range(struct nb_engine *engine, struct nb_view *view,
                            const struct nb_live *live, uint32_t range, struct nb_error *error);
/* Restores `saved`, and marks the ranges that were written since as dirty. */
void nb_checkpoint_restore(struct nb_live *live, const struct nb_checkpoint *saved);

/* Called after a commit: adds `features` feature changes to the model's tail (the entries that a
 * start would replay), or notes that a sweep has made it shorter. Updates the list of unsaved
 * models and the sum of all tails. */
void nb_checkpoint_note(struct nb_engine *engine, struct nb_live *live, uint64_t features);
/* Called at the start: adds a model to the list if the store has a tail of it. */
void nb_checkpoint_enlist(struct nb_engine *engine, struct nb_live *live);
/* Removes a model from the list, because it is dropped from memory or deleted. */
void nb_checkpoint_forget(struct nb_engine *engine, struct nb_live *live);

/* Drops up to `most` superfluous entries, if the model may have some. A damaged entry marks the
 * model as damaged, but is not an error here, so that other models go on. Returns 0 or a code. */
int nb_checkpoint_drop(const struct nb_engine *engine, struct nb_view *view, struct nb_live *live,
                       size_t most, struct nb_error *error);

/* Write a model that was computed from all of its entries, of which live->checkpoint.last is the
 * newest: first its ranges, in transactions of bounded size; then its other records, with its
 * totals as live->checkpoint has them and the state record last, which makes all of them valid. */

/* Writes up to NB_REPLAYED_RANGES ranges of rows from `range` on. Returns 0 or a code. */
enum { NB_REPLAYED_RANGES = 256, NB_REPLAYED_RANGE_BYTES = 32768 };
int nb_replayed_put_ranges(struct nb_engine *engine, struct nb_view *view,
                           const struct nb_live *live, uint32_t range, struct nb_error *error);
/* Writes the record of the model, its labels, its weights if it has some, and its state. Returns 0
 * or a code. */
int nb_replayed_put_records(struct nb_engine *engine, struct nb_view *view, struct nb_live *live,
                            bool has_weights, struct nb_error *error);

/* How many ranges a commit of `features` feature changes should write, so that the tails of all
 * models together stay within `replay_features`. */
uint32_t nb_checkpoint_due(const struct nb_engine *engine, uint64_t features);

/* Writes all dirty ranges of a loaded model, in transactions of bounded size. Stops early, with 0,
 * when `stop` (may be NULL) returns true. Returns 0 or the code of a transaction. */
int nb_checkpoint_all(struct nb_engine *engine, struct nb_live *live,
                      bool (*stop)(struct nb_engine *engine), struct nb_error *error);

/* ---- dirty marks ----------------------------------------------------------------------------- */

/* Dirty marks: a byte for each stored range of rows, set if the range is older than the counts. On
 * the thread that changes the counts. */

/* Marks the ranges of these rows, which are in ascending order and below `model_rows`. Returns 0 or
 * NB_NO_MEMORY. */
int nb_dirty_mark(struct nb_checkpoint *checkpoint, const struct nb_rows *rows,
                  uint32_t model_rows);

/* ---- records --------------------------------------------------------------------------------- */

/* Writes records of a model, from memory, into the open transaction. On the writer's thread. Each
 * returns 0 or a code of the store. */

/* Writes the record of the model, with these settings. The model must have its number. */
int nb_put_model(struct nb_engine *engine, const struct nb_view *view, struct nb_live *live,
                 const struct nb_settings *settings, struct nb_error *error);
/* Writes the record of a label. */
int nb_put_label(struct nb_engine *engine, const struct nb_view *view, const struct nb_live *live,
                 uint32_t label, struct nb_error *error);
/* Writes the ranges of weights that changed since the last commit, and counts new ones in the
 * checkpoint; so the state record must be written afterwards. */
int nb_put_weights(struct nb_engine *engine, const struct nb_view *view, struct nb_live *live,
                   struct nb_error *error);
/* Lists a model's number among the orphans, whose data will be deleted
 * (core/writer/upkeep.h). */
int nb_put_orphan(const struct nb_view *view, uint32_t number, struct nb_error *error);

/* ---- the twin's slots ------------------------------------------------------------------------ */

/* The slots of a model's twin in the store. A document that teaches the twin changes a slot for
 * each of its features, anywhere in the table. So a commit appends the changed slots to a log, and
 * ranges of slots are stored as a checkpoint of the log. When the log is half as long as the table,
 * a sweep writes all ranges, a bounded number with each commit, and then drops the part of the log
 * from before its beginning. A table that was replaced (it was doubled, came with an import or new
 * settings, or from a refit) is written whole in one commit: 2 MB at most.
 *
 * Loading reads the ranges, and then applies the log in order. Where a range is newer than a part
 * of the log, the later part of the log restores the same values. On the writer's thread, except
 * for loading. */

/* Stores the slots of the model that changed since the last commit; called before its state record
 * is written. If the transaction is not committed, the caller restores live->checkpoint. Returns 0
 * or a code.
 */
int nb_twin_log_put(struct nb_engine *engine, const struct nb_view *view, struct nb_live *live,
                    struct nb_error *error);

/* Reads the slots of a model into `weights`, which have no slots and which no other thread uses
 * yet. `stored` is from the model's state record. Sets *bytes (may be NULL) to the bytes of the log
 * that were read. Returns 0, NB_CORRUPT, NB_NO_MEMORY or another code. */
int nb_twin_log_load(const struct nb_view *view, uint32_t model,
                     const struct nb_twin_stored *stored, struct nb_stack_weights *weights,
                     uint64_t *bytes, struct nb_error *error);

#endif
