/* SPDX-License-Identifier: Apache-2.0
 *
 * Calibrations of models by the book: fitted on leave-one-out scores of their documents. On the
 * writer's thread.
 *
 * A score comes from the model's formulas, with the document's counts taken out exactly. 2,000
 * documents are drawn, fewer with many labels or where each score is a walk over the vocabulary,
 * and scored some at a time while the model goes on learning. The fitted map becomes a part of the
 * model's settings, and so an entry of the ledger: a replay restores the map without fitting. After
 * an import or a change of the settings there is no map at first.
 *
 * A model is calibrated once it has 20 documents and two labels with 5 documents each. It is
 * calibrated again when the number of its documents has changed by a fifth, or when other labels
 * have documents. The same rule holds after a calibration that failed because no label has two
 * documents in the sample: otherwise it would be tried again and again, and other models would
 * wait.
 */
#ifndef NB_CORE_WRITER_RECALIBRATE_H
#define NB_CORE_WRITER_RECALIBRATE_H

#include "core/bayes/calibration.h"
#include "core/bayes/scorer.h"
#include "core/model/live/state.h"

/* Judges how well the probabilities are calibrated, before and after a calibration. Pure
 * computation; any thread. */

/* Called with the scores of a document (borrowed) and its label. A result other than 0 ends the
 * calls. */
typedef int nb_calibration_visit(void *user, const struct nb_scores *said, uint32_t label);

/* Computes the scores that a calibrated model would give to documents that its map was not fitted
 * to. The documents of each label are dealt to two halves in turn, and each half is judged by the
 * map fitted to the other. With NB_CALIBRATION_NONE the result is the soft-max of the scores. Calls
 * `visit` for each document in turn. Returns 0, what `visit` returned, NB_CONFLICT (with a method:
 * no label has two documents) or NB_NO_MEMORY. */
int nb_calibration_judge(enum nb_calibration_method method,
                         const struct nb_calibration_scores *scores, nb_calibration_visit *visit,
                         void *user);

/* Makes a fitted map a part of the model, with one SETTINGS entry. On the writer's thread. */

/* Stores and publishes `settings`, which are the model's settings with the fitted map. They are
 * copied. The model is persisted and loaded, and has no parent. Returns 0, or a code with nothing
 * changed. */
int nb_put_fitted(struct nb_engine *engine, struct nb_live *live,
                  const struct nb_settings *settings);

/* Whether the model, which is loaded, is to be calibrated. */
bool nb_recalibrate_is_wanted(const struct nb_live *live);

/* Continues the calibration of the model, or begins one in place of another model's: scores some
 * documents. When all have scores, fits the map, sets *done, and fills `settings` with the model's
 * settings and the new map; the caller stores, publishes and deinits them. Returns 0, or a code;
 * after an error no calibration is under way. */
int nb_recalibrate_some(struct nb_engine *engine, struct nb_live *live, bool *done,
                        struct nb_settings *settings);

/* Drops the calibration that is under way, if any. */
void nb_recalibrate_end(struct nb_engine *engine);

#endif
