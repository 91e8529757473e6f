/* SPDX-License-Identifier: Apache-2.0
 *
 * The slots of a model's twin in the store. A document that teaches the twin changes as many slots
 * as it has features, all over the table. So a commit appends the slots that changed to a log, and
 * ranges of slots are a checkpoint of it, as ranges of rows are of the ledger: when the log is half
 * as long as the table, a sweep passes over all ranges, a bounded number with each commit, and what
 * the log had when it began is dropped. A table that was exchanged (it has doubled, came with an
 * import or other settings, or was learned anew by a refit) is written whole, at once: 2 MB at
 * most.
 *
 * Loading reads the ranges, and then the log in its order: also where a range is newer than a part
 * of the log, the last to say what a slot holds is right. On the writer's thread, but for loading.
 */
#ifndef NB_CORE_LIVE_TWIN_LOG_H
#define NB_CORE_LIVE_TWIN_LOG_H

#include "core/live/state.h"

/* Stores what changed in the slots of the model since the last commit, before its state record. If
 * the transaction is not committed, the caller brings live->checkpoint back. Returns 0 or a code.
 */
int nb_twin_log_put(struct nb_engine *engine, const struct nb_view *view, struct nb_live *live,
                    struct nb_error *error);

/* Reads the slots of a model, whose state record says `stored`, into weights that nobody else sees
 * yet and that have none. Sets *bytes (may be NULL) to those of the log that were read. Returns 0,
 * NB_CORRUPT, NB_NO_MEMORY or another code. */
int nb_twin_log_load(const struct nb_view *view, uint32_t model,
                     const struct nb_twin_stored *stored, struct nb_stack_weights *weights,
                     uint64_t *bytes, struct nb_error *error);

#endif
