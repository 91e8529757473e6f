/* SPDX-License-Identifier: Apache-2.0
 *
 * Features that no document has any more are dropped: their texts from the ledger, their rows from
 * the counts and the stored ranges. New features take the rows. So a model that forgets as much as
 * it learns keeps its size.
 *
 * A pass begins with the list of rows that are without counts. A row of it can be dropped when
 *
 * - no change has touched it since (nb_apply strikes it out),
 * - no document without a label has it: such documents are counted nowhere, so the pass reads their
 *   bags first, some in each step,
 * - what changes until then have superseded is gone from the ledger, and with it every bag that has
 *   the row; what brought the feature is a FEATURES entry now, which is written anew without it,
 * - no batch is left that may have found the row in use, before the pass began: such a batch does
 *   not have the feature's text. (A batch that finds a row without counts has it.)
 *
 * Rows are dropped in slices, a transaction each, which also stores the ranges of the rows as they
 * are. So a start finds either all of a slice or nothing of it, and nothing has to be replayed. The
 * ledger alone gives the same: where no entry has a row, a replay leaves it without a feature.
 *
 * One pass at a time, on the writer's thread, between commits.
 */
#ifndef NB_CORE_LIVE_UNUSED_H
#define NB_CORE_LIVE_UNUSED_H

#include "core/live/state.h"

/* How many rows of a loaded model are without counts and not dropped. */
uint32_t nb_unused_rows(const struct nb_live *live);
/* How many of them a model may have while there is other work: an eighth of its rows, and at least
 * so many as the engine's setting `unused_rows` says. */
uint32_t nb_unused_allowed(const struct nb_engine *engine, const struct nb_live *live);

/* Begins a pass over a model that has at least `least` such rows, unless one is running, or the
 * last one began after the newest change. */
void nb_unused_begin(struct nb_engine *engine, struct nb_live *live, uint32_t least);
/* Drops some rows if it is possible now. Returns whether the pass goes on: then more may be dropped
 * at once. */
bool nb_unused_step(struct nb_engine *engine);
/* Gives the pass up, if there is one. */
void nb_unused_end(struct nb_engine *engine);

#endif
