/* SPDX-License-Identifier: Apache-2.0
 *
 * The view of a scorer: the words that min_count and skip_top leave, and the sums over them. Under
 * the scorer's mutex and the model's read lock.
 */
#ifndef NB_CORE_BAYES_BOOK_VIEW_WORDS_H
#define NB_CORE_BAYES_BOOK_VIEW_WORDS_H

#include "core/bayes/book/score_view.h"

/* Called for every cell of a used token row whose label has documents. */
typedef void nb_view_each_cell(const struct nb_scorer *s, struct nb_score_label *l,
                               struct nb_cell cell);

/* Calls `call` for the cells of the used rows of the model. Returns how many rows are used. */
uint64_t nb_view_for_used(const struct nb_scorer *s, const struct nb_model *model,
                          struct nb_score_view *view, nb_view_each_cell *call);

/* Sets the vocabulary and the sums of the view, whose labels are there; with factors also those
 * with the counts beside the model's. Returns 0 or NB_NO_MEMORY. */
int nb_view_put_sums(const struct nb_scorer *s, const struct nb_model *model,
                     struct nb_score_view *view);

#endif
