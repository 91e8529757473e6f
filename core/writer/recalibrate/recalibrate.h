/* SPDX-License-Identifier: Apache-2.0
 *
 * Calibrations of models by the book: fitted on leave-one-out scores of their documents. On the
 * writer's thread.
 *
 * A score is what the model's formulas say of a document with its counts taken out, exactly. 2,000
 * documents are drawn, fewer with many labels or where each score is a walk over the vocabulary,
 * and scored some at a time while the model goes on learning. What was fitted becomes a part of the
 * model's settings, and so an entry of the ledger: whoever replays it has the same map, without
 * fitting. An import, or other settings, begin without.
 *
 * A model is calibrated from 20 documents on of which two labels have 5 each, and again whenever
 * its documents are a fifth more or fewer than when it was calibrated, or other labels have some.
 * So it is when it could not be calibrated, because no label has two documents in the sample: else
 * it would be tried again and again, and in the place of other models.
 */
#ifndef NB_CORE_WRITER_RECALIBRATE_RECALIBRATE_H
#define NB_CORE_WRITER_RECALIBRATE_RECALIBRATE_H

#include "core/bayes/book/scores.h"
#include "core/bayes/calibrate/calibration.h"
#include "core/model/live/state.h"

/* How far probabilities are from what they say, before and after a calibration. Pure computation;
 * any thread. */

/* Of a document with this label: what is said of it; borrowed. Not 0: no more are wanted. */
typedef int nb_calibration_visit(void *user, const struct nb_scores *said, uint32_t label);

/* What a calibrated model would say of documents that its map was not fitted on: of each label
 * every second document is of one half, and each half is judged by the map of the other. With
 * NB_CALIBRATION_NONE the soft-max of the scores. Calls `visit` for each document in turn. Returns
 * 0, what `visit` returned, NB_CONFLICT (with a method: no label has two documents) or
 * NB_NO_MEMORY. */
int nb_calibration_judge(enum nb_calibration_method method,
                         const struct nb_calibration_scores *scores, nb_calibration_visit *visit,
                         void *user);

/* A map that was fitted becomes a part of the model: one SETTINGS entry. On the writer's thread. */

/* Stores and publishes the settings that a model has, which is persisted and loaded and has no
 * parent, with the map that was fitted; copied. Returns 0, or a code with nothing changed. */
int nb_put_fitted(struct nb_engine *engine, struct nb_live *live,
                  const struct nb_settings *settings);

/* Whether the model, which is loaded, is to be calibrated. */
bool nb_recalibrate_is_wanted(const struct nb_live *live);

/* Scores some documents of the model, for which the one that is under way goes on, or begins in the
 * place of another model's. When all have scores, sets *done and fits: `settings` are then the
 * model's with the new map, for the caller to store, publish and deinit. Returns 0, or a code, and
 * then none is under way. */
int nb_recalibrate_some(struct nb_engine *engine, struct nb_live *live, bool *done,
                        struct nb_settings *settings);

/* Drops one that is under way, if any. */
void nb_recalibrate_end(struct nb_engine *engine);

#endif
