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

#include <stddef.h>
#include <stdint.h>

#include "core/bayes/expected.h"
#include "core/bayes/settings.h"
#include "core/counts/model.h"

struct nb_model;
struct nb_score_view;
struct nb_scorer;

/* ---- the scores of a document ---------------------------------------------------------------- */

/* The scores of a document: for every label a log score and a probability. Any thread; one struct
 * belongs to one thread, and is used for one document after another. */

struct nb_scores {
    size_t size;           /* labels that have documents, in the order of their names */
    uint32_t *labels;      /* label numbers; owned */
    double *log_scores;    /* ln P(v) + sum ln P(w|v), -INFINITY where one is 0; owned */
    double *probabilities; /* their soft-max (log-sum-exp); owned */
    uint64_t *documents;   /* D_v, once nb_scores_moderate needs them; owned */
    size_t best;           /* index of the winner: highest score, ties to the first by name */
    size_t second;         /* index of the runner-up; == best when there is only one label */
    uint64_t total;        /* token positions of the document */
    uint64_t known;        /* positions whose token is in the (used) vocabulary */
    uint64_t weighed;      /* as `known`, without values of attributes; 0 unless nb_score set it */
    double sureness[2];    /* h of nb_scores_moderate; both 0 for scores that are not the stack's */
    size_t room;           /* private: capacity of the arrays */
};
void nb_scores_init(struct nb_scores *scores);
void nb_scores_deinit(struct nb_scores *scores);

/* Makes room for `size` labels; old contents are lost. Returns 0 or NB_NO_MEMORY. */
int nb_scores_grow(struct nb_scores *scores, size_t size);
/* Sets winner, runner-up and probabilities from the `size` log scores, at least one. */
void nb_scores_rank(struct nb_scores *scores);

/* Sets winner and runner-up by other probabilities, one for each label; ties go to the higher
 * score, then to the first by name. */
void nb_scores_choose(struct nb_scores *scores, const double *probabilities);

/* ---- how sure the stack is, of many labels -----------------------------------------------------
 *
 * One temperature does not calibrate the soft-max of many labels: where no label stands out, the
 * winner is right more often than it says, and where one does, less often. So log scores are
 * multiplied by a factor that depends on how far the winner stands out,
 *
 *     k = exp(h_0 + h_1 ln(1/2 - ln(1 - P(winner))))
 *
 * The stack learns both h from its own scores (core/stack/stack_twin.c). The order of the labels
 * stays. Guo, Pleiss, Sun and Weinberger 2017 (On Calibration of Modern Neural Networks) have the
 * constant factor; P(winner) is calibrated here, as there.
 */

/* Returns ln(1/2 - ln(1 - P(winner))) of ranked scores. */
double nb_scores_clarity(const struct nb_scores *scores);

/* ---- scores from few documents ----------------------------------------------------------------
 *
 * Weights that are right on average do not reflect how far the counts of few documents are off. So
 * the stack's log-odds a = s_best - s_second, which are 0 or above, are pulled towards the prior
 * odds of the two labels, where these favour the winner:
 *
 *     p  = min(max(ln(D_best / D_second), 0), a)
 *     a' = p + (a - p) / sqrt(1 + 0.1 d (a - p)^2)      d = sum of q_v / D_v      s'_v = s_v a' / a
 *
 * q_v is 1 with two labels, else 2 P(v), so that an unlikely label with few documents does not
 * pull the others. This is the moderated output of MacKay (1992, The Evidence Framework
 * Applied to Classification Networks, equation 10) where the standard deviation of the evidence
 * a - p is half of (a - p) sqrt(d). The logarithm of an odds ratio has the standard deviation
 * sqrt(d) (Woolf 1955, with D_v for the cells). a' never falls as a rises, is never above a, and
 * not below 0: the order of the labels stays. With three documents of each of two labels no
 * probability is above .98, with ten none above .9992, with a hundred none above 1 - 10^-9.
 */

/* Returns a' / a for the log-odds `difference` of one label against another, of either sign, with
 * `prior` = ln(D_one / D_other) and d = `doubt` (0 or above). Above 0, at most 1. */
double nb_scores_moderation(double difference, double prior, double doubt);
/* Multiplies the log scores by k, then by the winner's a' / a, and ranks them again. The scores
 * must be ranked and their `documents` set (each above 0). Returns the product of both factors. */
double nb_scores_moderate(struct nb_scores *scores);
/* As nb_scores_moderate, but first sets `documents` to those of `model`, which numbers the labels
 * as the scores do. `without`: the label of a counted document that is left out, or NB_LABELS_NONE.
 * Under the model's read lock. */
#define NB_LABELS_NONE UINT32_MAX
double nb_scores_moderate_by(struct nb_scores *scores, const struct nb_model *model,
                             uint32_t without);

/* ---- two opinions -----------------------------------------------------------------------------
 *
 * The linear opinion pool (Stone 1961): P(v) = (1 - share) P_1(v) + share P_2(v). However sure and
 * wrong the second opinion is, -ln P of the right label is at most -ln(1 - share) above that of the
 * first opinion. A product of both, which adds log scores, has no such bound.
 */

/* Pools the ranked scores, multiplied by `temperature` (above 0), with `own`, which are also ranked
 * and have the same labels in the same order. The log scores become ln P(v) =
 * ln((1 - share) P_own(v) + share P(v)), and are ranked. `share` is 0 or above and below 1. Returns
 * the part of the winner's probability that does not come from `own`, 0 to 1. */
double nb_scores_pool(struct nb_scores *scores, double temperature, double share,
                      const struct nb_scores *own);

/* ---- the scorer --------------------------------------------------------------------------------
 *
 * The data that the formulas need in addition to the counts, for one model and its settings. Any
 * number of threads at once; for functions that take a model, the caller holds its read lock.
 */

/* Logarithms of small integers, and a view of the counts. The view holds what is the same for every
 * document while the counts do not change, such as the vocabulary that min_count and skip_top
 * leave. The view is made at its first use, and again after the counts have changed. */
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
