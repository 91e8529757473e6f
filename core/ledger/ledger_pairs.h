/* SPDX-License-Identifier: Apache-2.0
 *
 * The pairs of values (core/counts/pairs.h) of a model's labelled documents, counted from the
 * ledger. On the thread that changes the counts.
 */
#ifndef NB_CORE_LEDGER_LEDGER_PAIRS_H
#define NB_CORE_LEDGER_LEDGER_PAIRS_H

#include "core/bayes/settings.h"
#include "core/counts/model.h"
#include "core/counts/pairs.h"
#include "core/store/store.h"

/* Makes a table of the labelled documents of model `number`, whose counts are `model`, in some
 * microseconds for each document. A model without a number (0) has no documents yet. *pairs is NULL
 * if the settings have "structure": "naive". Returns 0, NB_TOO_LARGE (over NB_PAIRS_MOST),
 * NB_NO_MEMORY, NB_CORRUPT or what the store returns. */
int nb_ledger_pairs(const struct nb_view *view, uint32_t number, const struct nb_model *model,
                    const struct nb_settings *settings, struct nb_pairs **pairs,
                    struct nb_error *error);

#endif
