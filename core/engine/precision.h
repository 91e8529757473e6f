/* SPDX-License-Identifier: Apache-2.0
 *
 * Chooses thresholds for a wished precision (core/model/wishes.h). The scores are those of a
 * threshold for a false-positive rate: before learning, or leave-one-out if a stacked model was
 * trained label by label; and leave-one-out for a model by the book without a parent, where they
 * are exact. Any thread but the writer's.
 */
#ifndef NB_CORE_ENGINE_PRECISION_H
#define NB_CORE_ENGINE_PRECISION_H

#include "core/base/error.h"
#include "core/model/live.h"

struct nb_engine;

/* For a loaded model to which the caller has a reference: makes the choices of these settings, if
 * they are due (nb_wishes_are_due). While another thread makes them, waits if there were none yet.
 * Takes 2 ms for 10,000 scores before learning, 50 ms for 5,000 leave-one-out by the book, up to a
 * second or two in a stacked model. With too few documents to score, no threshold is found. Returns
 * 0, or NB_NOT_FOUND, NB_DAMAGED, NB_IO, NB_STOPPING or NB_NO_MEMORY. */
int nb_wishes_catch_up(struct nb_engine *engine, struct nb_live *live,
                       const struct nb_published *published, struct nb_error *error);

#endif
