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
#ifndef NB_CORE_SCORE_H
#define NB_CORE_SCORE_H

#include "core/model.h"
#include "core/settings.h"

/* What scoring needs beside the counts, per settings and generation of the counts: logarithms of
 * small integers, and the vocabulary that min_count and skip_top leave. Thread-safe inside;
 * recomputed when the model's generation has moved on, only if the settings need it. A scorer
 * serves one model; `settings` are copied. Returns 0 or NB_NO_MEMORY. */
struct nb_scorer;
int nb_scorer_new(const struct nb_settings *settings, struct nb_scorer **scorer);
void nb_scorer_free(struct nb_scorer **scorer);

struct nb_scores {
    size_t size;           /* labels that have documents, in the order of their names */
    uint32_t *labels;      /* label numbers; owned */
    double *log_scores;    /* ln P(v) + sum ln P(w|v); owned */
    double *probabilities; /* their soft-max (log-sum-exp); owned */
    size_t best;           /* index of the winner: highest score, ties to the first by name */
    size_t second;         /* index of the runner-up; == best when there is only one label */
    uint64_t total;        /* token positions of the document */
    uint64_t known;        /* those whose token is in the (used) vocabulary */
    size_t room;           /* private: capacity of the arrays */
};
void nb_scores_init(struct nb_scores *scores);
void nb_scores_deinit(struct nb_scores *scores);

/* Scores a bag (features of fields that are not tokens are passed over). Returns 0, NB_CONFLICT (no
 * label has a document) or NB_NO_MEMORY. */
int nb_score(struct nb_scorer *scorer, const struct nb_model *model,
             const struct nb_feature *features, size_t size, struct nb_scores *scores,
             struct nb_error *error);

/* What one feature adds to ln(P(best)/P(second)); `feature` indexes the bag, SIZE_MAX stands for
 * the prior and everything else that no single feature of the bag adds. */
struct nb_evidence {
    size_t feature;
    double evidence;
};
/* The evidence of every known feature, in the order of the bag, and the prior's row last. `rows`
 * has room for size + 1; sets *count. All rows sum to log_scores[best] - log_scores[second]. */
int nb_explain(struct nb_scorer *scorer, const struct nb_model *model,
               const struct nb_feature *features, size_t size, const struct nb_scores *scores,
               struct nb_evidence *rows, size_t *count);

/* Puts the `most` strongest rows (by magnitude, ties by feature) first, in order; the others follow
 * in no order. In time count + count log(most) at worst, whatever the rows are. */
void nb_evidence_sort(struct nb_evidence *rows, size_t count, size_t most);

/* How telling row `row` is for `label`: ln P(w|label) - ln P(w|all other labels together), with the
 * settings' smoothing and the event model's counts. 0 if the row is not in the used vocabulary. */
double nb_row_evidence(struct nb_scorer *scorer, const struct nb_model *model, uint32_t row,
                       uint32_t label);

/* Memory of the view; that of logarithms is shared by all models: nb_log_tables_memory. */
size_t nb_scorer_memory(const struct nb_scorer *scorer);

#endif
