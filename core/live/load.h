/* SPDX-License-Identifier: Apache-2.0
 *
 * From the store into memory: the names of all models at start, and a model's settings, counts and
 * weights when it is first asked for. Any thread.
 */
#ifndef NB_CORE_LIVE_LOAD_H
#define NB_CORE_LIVE_LOAD_H

#include "core/live/state.h"

/* Fills a model that is not loaded: its settings, its labels and weights as the last commit left
 * them, the stored ranges of rows, and on top of these the entries of the ledger that some range
 * does not have yet. No repair step: a range takes from an entry only what is newer than its mark.
 * The caller holds the model's `loading`. Returns 0, NB_CORRUPT (and marks nothing), NB_NO_MEMORY
 * ... */
int nb_load_model(struct nb_engine *engine, struct nb_live *live, struct nb_error *error);

/* Reads the model's settings alone, which works for a damaged model, too. The caller deinits them.
 * NB_NOT_FOUND: the store has no such model. */
int nb_load_settings(struct nb_engine *engine, const struct nb_live *live,
                     struct nb_settings *settings, struct nb_error *error);
/* The same in a view. */
int nb_load_settings_in(const struct nb_view *view, const struct nb_live *live,
                        struct nb_settings *settings, struct nb_error *error);

#endif
