/* SPDX-License-Identifier: Apache-2.0
 *
 * Takes the last documents of a model back for a moment, so that an earlier one can be taken back
 * from the weights of its time: what the later documents learned otherwise because of it goes, too.
 *
 * Going back, each later document leaves the weights by the inverse of its step (nb_stack_unlearn)
 * and the counts; its inputs are those from which it was learned. Going forward, it is learned
 * again, as if it came now. On the thread that changes the model. For some tens of milliseconds
 * other threads may see a verdict without the later documents.
 */
#ifndef NB_CORE_MODEL_REWIND_H
#define NB_CORE_MODEL_REWIND_H

#include "core/model/live.h"

struct nb_rewind;
struct nb_rows;

/* NULL: out of memory. */
struct nb_rewind *nb_rewind_new(void);
void nb_rewind_free(struct nb_rewind **rewind);

/* Takes the current documents between the entries `after` and `before` (the change's own, which may
 * be in the ledger already) back, the newest first. Does nothing if
 * there are none or too many, or if much was taken back so of late: the caller then takes its
 * document back by the weights of today. Sets *is_done to whether no later one is left. Returns 0,
 * or a code with the counts as they were; then the caller rolls the weights back. */
int nb_rewind_begin(struct nb_rewind *rewind, struct nb_live *live, const struct nb_view *view,
                    uint64_t after, uint64_t before, bool *is_done);
/* Learns them again, the oldest first. `rows` and `label`: the document of the change, which is
 * counted and learned after them, so that it is left out of the counts meanwhile; NULL: it was
 * forgotten. Returns 0, or a code with all documents counted; then the caller rolls the weights
 * back. Does nothing if none were taken back. */
int nb_rewind_end(struct nb_rewind *rewind, struct nb_live *live, const struct nb_rows *rows,
                  uint32_t label);
/* Counts them again, for a change that failed between the two. */
void nb_rewind_cancel(struct nb_rewind *rewind, struct nb_live *live);

#endif
