/* SPDX-License-Identifier: Apache-2.0
 *
 * What the formulas need beside the counts, for one model under one set of settings. Any thread,
 * any number at once; the caller of what takes a model holds the model's read lock.
 */
#ifndef NB_CORE_BAYES_BOOK_SCORER_H
#define NB_CORE_BAYES_BOOK_SCORER_H

#include "core/bayes/expected/expected.h"
#include "core/bayes/settings/settings.h"
#include "core/counts/model.h"

/* Logarithms of small integers, and a view of the counts: what is the same for every document while
 * the counts stand still, the vocabulary that min_count and skip_top leave among it. The view is
 * made when it is first asked for, and again after the counts have changed. */
struct nb_scorer;
/* `settings` are copied. Returns 0 or NB_NO_MEMORY. */
int nb_scorer_new(const struct nb_settings *settings, struct nb_scorer **scorer);
/* The same with counts beside the model's, of which the scorer takes references: all counts are
 * sums of both, each of the others by its weight. Which labels there are follows from the model
 * alone; how often a word occurs, for min_count and skip_top, from the documents themselves,
 * whatever they weigh. In time of words times labels for each document. */
int nb_scorer_new_beside(const struct nb_settings *settings, const struct nb_besides *besides,
                         struct nb_scorer **scorer);
void nb_scorer_free(struct nb_scorer **scorer);
/* Memory of the view; that of logarithms is shared by all models: nb_log_tables_memory. */
size_t nb_scorer_memory(const struct nb_scorer *scorer);

struct nb_score_view;
/* For core/bayes/book: the view of the model's counts as they are, owned by the scorer; good while
 * the model's read lock is held. Returns 0 or NB_NO_MEMORY. */
int nb_scorer_view(struct nb_scorer *scorer, const struct nb_model *model,
                   const struct nb_score_view **view);

#endif
