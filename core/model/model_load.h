/* SPDX-License-Identifier: Apache-2.0
 *
 * Loading from the store: a model's settings, counts and weights, when it is first used. Any
 * thread.
 */
#ifndef NB_CORE_MODEL_MODEL_LOAD_H
#define NB_CORE_MODEL_MODEL_LOAD_H

#include "core/model/state.h"

/* Loads a model: its settings, labels and weights as of the last commit, and the stored ranges of
 * rows; then replays the entries of the ledger that are newer than a range. Each range has a mark,
 * the last entry that it contains, so an entry is never applied twice. The caller holds the model's
 * `loading`. Returns 0, NB_CORRUPT (the model is not marked as damaged), NB_NO_MEMORY or another
 * code of the store. */
int nb_load_model(struct nb_engine *engine, struct nb_live *live, struct nb_error *error);

/* Reads only the model's settings, even of a damaged model. The caller deinits them. NB_NOT_FOUND:
 * the store has no such model. */
int nb_load_settings(struct nb_engine *engine, const struct nb_live *live,
                     struct nb_settings *settings, struct nb_error *error);
/* As nb_load_settings, in a given view. */
int nb_load_settings_in(const struct nb_view *view, const struct nb_live *live,
                        struct nb_settings *settings, struct nb_error *error);

#endif
