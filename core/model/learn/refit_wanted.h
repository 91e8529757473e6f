/* SPDX-License-Identifier: Apache-2.0
 *
 * Decides whether a model's weights are refitted (refit.h), why, and whether now. On the thread
 * that changes the model.
 */
#ifndef NB_CORE_MODEL_LEARN_REFIT_WANTED_H
#define NB_CORE_MODEL_LEARN_REFIT_WANTED_H

#include "core/model/learn/order.h"
#include "core/model/live/live.h"

/* Whether a REFIT entry is needed before the next change of the model: the weights have missed
 * documents or are of other constants, or a refit was lost. */
bool nb_refit_is_due(const struct nb_live *live);
/* Whether the next slice may run now: a refit is begun, and its weights are wrong until it ends, or
 * the model is not small (nb_order_is_small), or no document of it has changed for NB_REFIT_REST. A
 * small model rests while documents arrive, because each of them runs a slice: if slices also ran
 * in the gaps, the moment when the new weights replace the old ones would depend on the speed of
 * training. */
#define NB_REFIT_REST UINT64_C(200000000) /* nanoseconds */
bool nb_refit_is_next(const struct nb_live *live);
/* Whether a refit is begun but rests. */
bool nb_refit_rests(const struct nb_live *live);
/* Whether a refit is begun, or should begin when the writer has been idle for a while. */
bool nb_refit_is_wanted(const struct nb_live *live);
/* Notes that a document was added or removed, which the twin has missed if it is switched off.
 * Returns 0 or NB_NO_MEMORY.
 */
int nb_refit_note_missed(struct nb_live *live);
/* Sets live->is_stale, live->wants_refit and live->is_skewed from the present weights. */
void nb_refit_note(struct nb_live *live);
/* The reason of a refit that begins with a REFIT entry without a request: the weights are of other
 * constants or have missed documents, or nb_order_wants_idle.
 */
enum nb_order_refit nb_refit_why(const struct nb_live *live);

#endif
