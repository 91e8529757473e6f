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
#ifndef NB_CORE_BAYES_SCORER_H
#define NB_CORE_BAYES_SCORER_H

#include "core/bayes/expected.h"
#include "core/bayes/scores.h"
#include "core/bayes/settings.h"
#include "core/counts/model.h"

/* ---- the scorer --------------------------------------------------------------------------------
 *
 * The data that the formulas need in addition to the counts, for one model and its settings. Any
 * number of threads at once; for functions that take a model, the caller holds its read lock.
 */

/* Logarithms of small integers, and a view of the counts. The view holds what is the same for every
 * document while the counts do not change, such as the vocabulary that min_count and skip_top
 * leave. The view is made at its first use, and again after the counts have changed. */
struct nb_scorer;
/* `settings` are copied. Returns 0 or NB_NO_MEMORY. */
int nb_scorer_new(const struct nb_settings *settings, struct nb_scorer **scorer);
/* As nb_scorer_new, with weighted counts that are added to the model's; the scorer takes references
 * to them. The model alone determines which labels there are. min_count and skip_top use the
 * occurrences of a word without weights. Scoring a document takes time proportional to words times
 * labels. */
int nb_scorer_new_beside(const struct nb_settings *settings, const struct nb_besides *besides,
                         struct nb_scorer **scorer);
void nb_scorer_free(struct nb_scorer **scorer);
/* Returns the memory of the view. All models share the logarithms: see nb_log_tables_memory. */
size_t nb_scorer_memory(const struct nb_scorer *scorer);

struct nb_score_view;
/* For core/bayes: the view of the model's current counts, owned by the scorer; valid while
 * the model's read lock is held. Returns 0 or NB_NO_MEMORY. */
int nb_scorer_view(struct nb_scorer *scorer, const struct nb_model *model,
                   const struct nb_score_view **view);

/* ---- scores ---------------------------------------------------------------------------------- */

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
