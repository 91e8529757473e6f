/* SPDX-License-Identifier: Apache-2.0
 *
 * Checkpoints: the counts, a view of the ledger, are written in ranges of rows, a bounded slice at
 * a time. A sweep passes once over all ranges of a model and writes the dirty ones; after it, no
 * entry from before its beginning needs to be replayed, and what those entries replaced is dropped.
 *
 * Models that a start would replay stand in a list, oldest first (`unsaved`). The bound on what a
 * start replays, `replay_features`, holds for all models together: when half of it is reached, each
 * commit takes slices of the oldest along; when the writer has nothing to do, it saves them all.
 *
 * On the writer's thread.
 */
#ifndef NB_CORE_LIVE_CHECKPOINT_H
#define NB_CORE_LIVE_CHECKPOINT_H

#include "core/live/state.h"

/* The state record of the model as it is in memory, with `last` as its newest entry. */
struct nb_state_record nb_checkpoint_state(const struct nb_live *live, uint64_t last);

/* Writes up to `most` dirty ranges of the running sweep into the transaction, and begins a sweep if
 * none is running. Sets *written. Returns 0 or a code. If the transaction is not committed, the
 * caller calls nb_checkpoint_restore with a copy of the checkpoint from before. */
int nb_checkpoint_slice(struct nb_engine *engine, struct nb_view *view, struct nb_live *live,
                        uint32_t most, uint32_t *written, struct nb_error *error);
/* Stores a range of rows as it is now. Returns 0 or a code. */
int nb_checkpoint_put_range(struct nb_engine *engine, struct nb_view *view,
                            const struct nb_live *live, uint32_t range, struct nb_error *error);
/* Brings back `saved`, and marks dirty what was written since. */
void nb_checkpoint_restore(struct nb_live *live, const struct nb_checkpoint *saved);

/* Notes a commit: so many feature changes came to the model's tail; or a sweep has finished and the
 * tail is shorter. Updates the list of unsaved models and the sum of all tails. */
void nb_checkpoint_note(struct nb_engine *engine, struct nb_live *live, uint64_t features);
/* At the start: puts a model into the list if the store has a tail of it. */
void nb_checkpoint_enlist(struct nb_engine *engine, struct nb_live *live);
/* Takes the model out of the list: it is dropped from memory or deleted. */
void nb_checkpoint_forget(struct nb_engine *engine, struct nb_live *live);

/* States of documents that were superseded before this time are dropped: nb_ledger_drop. */
int64_t nb_checkpoint_keep_from(const struct nb_engine *engine);

/* How many ranges a commit of `features` feature changes should write, so that the tails of all
 * models together stay within `replay_features`. */
uint32_t nb_checkpoint_due(const struct nb_engine *engine, uint64_t features);

/* Saves a loaded model whole, in transactions of bounded size. Stops early, with 0, when `stop`
 * (may be NULL) returns true. Returns 0 or the code of a transaction. */
int nb_checkpoint_all(struct nb_engine *engine, struct nb_live *live,
                      bool (*stop)(struct nb_engine *engine), struct nb_error *error);

#endif
