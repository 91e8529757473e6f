/* SPDX-License-Identifier: Apache-2.0
 *
 * What the formulas need beside the counts, for one model under one set of settings. Any thread,
 * any number at once; the caller of what takes a model holds the model's read lock.
 */
#ifndef NB_CORE_SCORE_SCORER_H
#define NB_CORE_SCORE_SCORER_H

#include "core/model/model.h"
#include "core/model/settings.h"

/* Logarithms of small integers, and a view of the counts: what is the same for every document while
 * the counts stand still, the vocabulary that min_count and skip_top leave among it. The view is
 * made when it is first asked for, and again after the counts have changed. */
struct nb_scorer;
/* `settings` are copied. Returns 0 or NB_NO_MEMORY. */
int nb_scorer_new(const struct nb_settings *settings, struct nb_scorer **scorer);
void nb_scorer_free(struct nb_scorer **scorer);
/* Memory of the view; that of logarithms is shared by all models: nb_log_tables_memory. */
size_t nb_scorer_memory(const struct nb_scorer *scorer);

#endif
