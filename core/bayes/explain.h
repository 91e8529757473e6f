/* SPDX-License-Identifier: Apache-2.0
 *
 * What each feature of a document adds to a verdict, and how telling a feature is for a label. Any
 * thread; the caller holds the model's read lock.
 */
#ifndef NB_CORE_BAYES_EXPLAIN_H
#define NB_CORE_BAYES_EXPLAIN_H

#include <stdbool.h>

#include "core/bayes/scorer.h"

/* What one feature adds to ln(P(best)/P(second)). A mail has thousands of them. */
struct nb_evidence {
    double evidence;
    uint32_t feature; /* its place in the bag, or NB_NO_FEATURE */
    uint32_t given;   /* the place in the bag, plus 1, of the value that it depends on; 0: none */
};
/* Stands for the prior and everything else that does not come from a single feature of the bag. No
 * bag has so many features. */
#define NB_NO_FEATURE UINT32_MAX

/* The evidence of each field, summed in the order of the bag, so that the sums do not depend on how
 * many rows are requested. */
struct nb_evidence_sums {
    double factor; /* multiplies all evidence first */
    double fields[NB_FIELDS];
};

/* Multiplies the evidence of the rows by sums->factor and sums it. The rows are in bag order. */
void nb_evidence_sum(const struct nb_feature *features, struct nb_evidence *rows, size_t count,
                     struct nb_evidence_sums *sums);

/* Writes the evidence of every known feature, in the order of the bag, and the prior's row last.
 * `found`: rows of the features from nb_model_find_all under the same lock; NULL: the rows are
 * looked up. `rows` has room for size + 1; sets *count. All rows sum to log_scores[best] -
 * log_scores[second] where both are finite; where an estimate of P(w|v) is 0, rows are infinite
 * (core/bayes/estimate.h). */
int nb_explain(struct nb_scorer *scorer, const struct nb_model *model,
               const struct nb_feature *features, size_t size, const uint32_t *found,
               const struct nb_scores *scores, struct nb_evidence *rows, size_t *count);

/* Returns how telling row `row` is for `label`: ln P(w|label) - ln P(w|all other labels together),
 * with the settings' estimate and the event model's counts; infinite if one of the probabilities is
 * 0. Returns 0 if the row is not in the used vocabulary. */
double nb_row_evidence(struct nb_scorer *scorer, const struct nb_model *model, uint32_t row,
                       uint32_t label);

/* The terms of the multinomial estimate P(w|v) = (count + addend) / (sum + added), under the
 * settings' smoothing and estimate. With the binary model, `count` and `sum` are
 * documents. */
struct nb_word_law {
    uint64_t sum;        /* n_v, or d_v, of the used vocabulary */
    uint64_t vocabulary; /* |V| of the used words */
    double addend;       /* added to the count of a word; may be 0 */
    bool is_by_word;     /* addends differ by word: nb_word_law_count returns them */
    double added;        /* the addends of all words */
    /* A word's Dirichlet parameter minus its addend: the estimate is the mean or the mode of the
     * posterior under that prior. The relative frequency is the mode under a uniform prior. */
    double offset;
    double prior; /* P(v) */
};
/* Fills `law` for a label under the current counts. Returns 0, NB_CONFLICT (the label has no
 * documents) or NB_NO_MEMORY. */
int nb_word_law_of(struct nb_scorer *scorer, const struct nb_model *model, uint32_t label,
                   struct nb_word_law *law);
/* Sets *count to n_wv, or d_wv, of the feature in `row`, and *addend to its addend. Returns false
 * if the feature is not in the used vocabulary. After nb_word_law_of under the same lock. */
bool nb_word_law_count(struct nb_scorer *scorer, const struct nb_model *model, uint32_t row,
                       uint32_t label, const struct nb_word_law *law, uint64_t *count,
                       double *addend);

struct nb_attribute_scores;

/* Sets *attributes to the estimates of attributes under the current counts, for
 * core/bayes/attribute_scores.h, and *place to the label's place there. Returns 0,
 * NB_CONFLICT (the label has no documents) or NB_NO_MEMORY.
 */
int nb_label_attributes(struct nb_scorer *scorer, const struct nb_model *model, uint32_t label,
                        const struct nb_attribute_scores **attributes, uint32_t *place);

#endif
