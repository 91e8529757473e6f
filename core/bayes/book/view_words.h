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

/* Sets the vocabulary and the sums of the view, whose labels are set already. With factors also
 * sets the sums that include the counts beside the model's. Returns 0 or NB_NO_MEMORY. */
int nb_view_put_sums(const struct nb_scorer *s, const struct nb_model *model,
                     struct nb_score_view *view);

/* The view of a scorer: what each label starts from before a document's words are read. Under the
 * scorer's mutex and the model's read lock. */

/* Adds to the labels' bases, which are their priors, the likelihood of a document without words
 * (Bernoulli), and sets what a known word without counts for a label adds. Call it after
 * nb_view_put_sums, when the scorer's logarithms reach the sum of the view. */
void nb_view_put_terms(const struct nb_scorer *s, const struct nb_model *model,
                       struct nb_score_view *view);
/* As nb_view_put_terms, for a scorer with factors: takes logarithms of the denominators. */
void nb_view_put_factors(const struct nb_scorer *s, const struct nb_model *model,
                         struct nb_score_view *view);

#endif
