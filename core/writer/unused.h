/* SPDX-License-Identifier: Apache-2.0
 *
 * Drops features that no document has any more: their texts from the ledger, and their rows from
 * the counts and the stored ranges. New features reuse the rows. So a model that forgets as much as
 * it learns keeps its size.
 *
 * A pass begins with a list of the rows without counts. Such a row can be dropped when
 *
 * - no change has touched it since (nb_apply strikes it out),
 * - no document without a label has it: such documents are counted nowhere, so the pass reads their
 *   bags first, some in each step,
 * - the entries that earlier changes have superseded are gone from the ledger, and with them every
 *   bag that has the row; the entry that brought the feature is a FEATURES entry now, which is
 *   written anew without the feature,
 * - no batch is left that may have found the row in use before the pass began, because that batch
 *   lacks the feature's text. (A batch that finds a row without counts has the text.)
 *
 * Rows are dropped in slices, each in a transaction that also stores the ranges of the rows. So a
 * start finds either the whole slice or nothing of it, and need not replay it. A replay of the
 * ledger gives the same result: a row that no entry has stays without a feature.
 *
 * One pass at a time, on the writer's thread, between commits.
 */
#ifndef NB_CORE_WRITER_UNUSED_H
#define NB_CORE_WRITER_UNUSED_H

#include "core/model/state.h"
#include "core/writer/staging.h"

/* Returns the number of rows without counts that a model may have while the writer is busy: an
 * eighth of its rows, and at least the engine's setting `unused_rows`. */
uint32_t nb_unused_allowed(const struct nb_engine *engine, const struct nb_live *live);

/* Begins a pass over a model that has at least `least` rows without counts, unless a pass is under
 * way or no change was made since the model's last pass began. */
void nb_unused_begin(struct nb_engine *engine, struct nb_live *live, uint32_t least);
/* Runs a step of the pass: drops some rows, if that is possible now. Returns whether the next step
 * can follow at once. */
bool nb_unused_step(struct nb_engine *engine);
/* Ends the pass, if one is under way. */
void nb_unused_end(struct nb_engine *engine);

/* Drops some features that no document has, from a model of the committed group. */
void nb_unused_drop_some(struct nb_engine *engine, const struct nb_group *group);

#endif
