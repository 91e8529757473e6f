/* SPDX-License-Identifier: Apache-2.0
 *
 * The slots of a model's twin in the store. A document that teaches the twin changes a slot for
 * each of its features, anywhere in the table. So a commit appends the changed slots to a log, and
 * ranges of slots are stored as a checkpoint of the log. When the log is half as long as the table,
 * a sweep writes all ranges, a bounded number with each commit, and then drops the part of the log
 * from before its beginning. A table that was replaced (it was doubled, came with an import or new
 * settings, or from a refit) is written whole in one commit: 2 MB at most.
 *
 * Loading reads the ranges, and then applies the log in order. Where a range is newer than a part
 * of the log, the later part of the log restores the same values. On the writer's thread, except
 * for loading.
 */
#ifndef NB_CORE_MODEL_LIVE_TWIN_LOG_H
#define NB_CORE_MODEL_LIVE_TWIN_LOG_H

#include "core/model/live/state.h"

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
