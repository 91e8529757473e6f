/* SPDX-License-Identifier: Apache-2.0
 *
 * Refits: new weights of a model are fitted to leave-one-out inputs of all its current documents,
 * or of a sample; of none if all documents have the same label. On the thread that changes the
 * model.
 *
 * A refit is cut into slices of some milliseconds. Slices are limited by counted work and not by
 * time, so that a replay does the same. A refit begins with an entry of the ledger: the change that
 * gave the reason (core/model/learn/order.h), or a REFIT. Its documents and their order follow from
 * the numbers of core/model/learn/order.h (nb_order_random). While it is under way, each change of
 * the model runs one slice, and when the writer is idle, REFIT entries run one each. If
 * nb_order_wants_pass says so, a new twin then learns from all current documents, in the same
 * slices. Until the last slice ends, the old weights, with the old twin, stay in use and go on
 * learning; then the new ones replace them. During the twin's pass the new weights learn from
 * changes, too.
 *
 * The progress of a refit is kept in memory only. The stored numbers say that one began: if it is
 * lost, because the process ended or a commit failed, it begins again with a REFIT entry before the
 * next change of the model.
 *
 * The inputs of the documents of a slice are computed on several threads: the counts do not change
 * meanwhile, and the fit takes the inputs in the order of the sample, so the result is the same as
 * with one thread.
 */
#ifndef NB_CORE_MODEL_LEARN_REFIT_H
#define NB_CORE_MODEL_LEARN_REFIT_H

#include "core/model/learn/order.h"
#include "core/model/live/live.h"

struct nb_refit_reader; /* core/model/learn/refit_reader.h */
struct nb_view;

/* Makes the model's list of current entries, unless it exists. Returns 0 or a code. */
int nb_refit_list(struct nb_live *live, const struct nb_view *view);

/* Begins a refit, and drops one that is under way. Returns 0 or a code. After an error, here and
 * below, the caller rolls the weights back and drops the refit. */
int nb_refit_begin(struct nb_live *live, const struct nb_view *view, enum nb_order_refit why);
/* Runs one slice, of `most` units of work. Does nothing if no refit is under way. */
enum { NB_REFIT_UNITS = 2500000 }; /* 5 to 8 ms of one thread */
int nb_refit_slice(struct nb_live *live, const struct nb_view *view, uint64_t most,
                   struct nb_refit_reader *reader);
/* Drops the refit that is under way. The stored numbers still say that it began. */
void nb_refit_drop(struct nb_live *live);
/* The new weights during the twin's pass, when they learn from changes, too; else NULL. */
struct nb_stack_weights *nb_refit_weights(const struct nb_live *live);

#endif
