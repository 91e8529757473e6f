/* SPDX-License-Identifier: Apache-2.0
 *
 * Refits while the writer has nothing else to do: REFIT entries, one slice each; and calibrations
 * of models by the book. On the writer's thread.
 */
#ifndef NB_CORE_WRITER_UPKEEP_REFITS_H
#define NB_CORE_WRITER_UPKEEP_REFITS_H

#include "core/model/live/state.h"

/* Commits one slice of a refit that is under way and does not rest (core/model/learn/refit.h), or
 * begins one that some loaded model must have; when it is `quiet`, also one that would make its
 * weights better. In each gap between two requests of a trainer that would be the wrong time: every
 * change runs a slice while one is under way. Returns whether it has. */
bool nb_refits_some(struct nb_engine *engine, bool quiet);
/* Whether a refit of some loaded model rests. */
bool nb_refits_rest(struct nb_engine *engine);

/* Goes on with the calibration of some loaded model, or begins one (core/writer/recalibrate). At
 * its end the map is committed with the model's settings. Returns whether there was something to
 * do, and it succeeded. */
bool nb_refits_calibrate(struct nb_engine *engine);
/* The same of one model, unless it needs none: between the commits of what it learns. */
bool nb_refits_calibrate_model(struct nb_engine *engine, struct nb_live *live);

#endif
