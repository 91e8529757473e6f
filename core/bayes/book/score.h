/* SPDX-License-Identifier: Apache-2.0
 *
 * The log scores of a bag under a model: CLASSIFY_NAIVE_BAYES_TEXT (Mitchell 1997, table 6.2) and
 * the binary, Bernoulli and complement event models, from the same counts. Any thread; the caller
 * holds the model's read lock.
 *
 * A label's score is a base (prior, and the all-unseen score of the known positions) plus one
 * correction per non-zero count. Everything is summed in the order of the bag and, within a
 * feature, per label, so that the same document under the same counts gives the same bits.
 */
#ifndef NB_CORE_BAYES_BOOK_SCORE_H
#define NB_CORE_BAYES_BOOK_SCORE_H

#include "core/bayes/book/scorer.h"
#include "core/bayes/book/scores.h"

/* Scores a bag (features of fields that are not tokens are skipped). Returns 0, NB_CONFLICT (no
 * label has a document) or NB_NO_MEMORY. */
int nb_score(struct nb_scorer *scorer, const struct nb_model *model,
             const struct nb_feature *features, size_t size, struct nb_scores *scores,
             struct nb_error *error);
/* As nb_score, with rows that nb_model_find_all found under the same lock. `found` NULL: the rows
 * are looked up. */
int nb_score_found(struct nb_scorer *scorer, const struct nb_model *model,
                   const struct nb_feature *features, size_t size, const struct nb_found *found,
                   struct nb_scores *scores, struct nb_error *error);

#endif
