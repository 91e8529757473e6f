/* SPDX-License-Identifier: Apache-2.0
 *
 * Values of attributes by the book: CLASSIFY-NEW-INSTANCE (Mitchell 1997, section 6.9) adds ln
 * P(a|v) for each attribute of which the document has a value. Each has a vocabulary of its own,
 * that of the values seen; b is what the estimate adds to counts (core/bayes/book/estimate.h),
 * here one number:
 *
 * - a category is drawn once: P(m|v) = (n_mv + b) / (n_v + b values), where n_v is the number of
 * the label's documents that have a value of the attribute;
 * - a set is a Bernoulli for each value seen: P(m|v) = (d_mv + b) / (D_v + 2b), where D_v is the
 *   number of the label's documents that have a set there, be it empty;
 * - a number has a Gaussian of each label, whatever the event model and the estimate are, and says
 *   nothing where all numbers that were learned are equal; or it is cut into bins, which are values
 *   of a category (core/bayes/attribute/numbers.h);
 * - a text has the event model of the settings. With the Bernoulli model it is as a set.
 *
 * A smoothing of each label has a b_v of its own; one of alpha and beta adds these to what a set
 * has and lacks, and alpha elsewhere; the m-estimate adds m p, and m below, where p is 1 / values
 * (of a set 1 / 2), or the value's share of the attribute's counts of all labels. With a number of
 * each value b is b_m above, and below the sum over all values seen (of a set 2 b_m): the Dirichlet
 * prior in full. Of the m-estimate with p from a parent (core/stack/blend.h) p is Laplace's
 * estimate from the parent's counts of the attribute, of all labels together: (n'_m + 1) / (n' +
 * values' + 1), of a set (d'_m + 1) / (D' + 2), and where the parent has none 1 / values; of bins 1
 * / bins.
 *
 * The complement model takes the counts of all other labels, except for sets and numbers. An
 * attribute without a value in the document adds nothing, and learning counts nothing for it.
 *
 * With "structure": "tan" a category has another one as its parent (core/bayes/attribute/tree.h;
 * bins of numbers are categories): given the parent's value y it is P(m|yv) = (n_myv + b) / (n_yv +
 * b values), of documents that have both. Where the document lacks the parent's value, or no
 * document has that value, it is P(m|v) as above.
 *
 * Threads: one makes the scores anew; any number reads them, under the model's read lock.
 */
#ifndef NB_CORE_BAYES_ATTRIBUTE_ATTRIBUTE_SCORES_H
#define NB_CORE_BAYES_ATTRIBUTE_ATTRIBUTE_SCORES_H

#include "core/bayes/attribute/numbers.h"
#include "core/bayes/attribute/tree.h"
#include "core/bayes/book/estimate.h"
#include "core/counts/counts.h"

/* Addends of the estimate for values that have a smoothing of their own: a Dirichlet
 * prior with one parameter for each value of a category, or Beta(a, a) with an a of each value of a
 * set (core/bayes/settings/smoothing.h). Pure functions, under the model's read lock. */

/* Counts and addends of an attribute and a label. */
struct nb_attribute_label {
    uint64_t documents;         /* D_v */
    struct nb_addends addends;  /* of each value, unless they differ by value */
    double added;               /* to n_v, or to D_v */
    uint64_t sum;               /* n_v; with the binary model that of the documents of each value */
    double ends;                /* ln of the denominator of an estimate, 0 where it is 0 */
    struct nb_log_product none; /* Bernoulli: of a document that has a set with no known value */
};

struct nb_attribute_counts {
    enum nb_event_model event;
    uint64_t vocabulary;
    uint64_t sum;       /* n_v of all labels */
    uint64_t documents; /* D_v of all labels */
    bool has_addends;   /* its values have addends of their own (attribute_scores.h) */
    double pool_sum;    /* denominator of the parent's p_m; 0: no counts */
};

/* All zeros: there are no attributes. */
struct nb_attribute_scores {
    size_t count;    /* of attributes */
    uint32_t size;   /* of labels: those that have documents, in the order of their names */
    double by_value; /* m of the m-estimate by shares, whose addends differ by value; else 0 */
    const struct nb_model *pool; /* borrowed: the counts that give p; NULL: the model's own */
    uint32_t *names;             /* label numbers; owned */
    struct nb_attribute_counts *counts; /* by attribute; owned */
    struct nb_attribute_label *labels;  /* [attribute * size + place]; owned */
    size_t room;                        /* of `labels` */
    const struct nb_settings *settings; /* borrowed */
    struct nb_numbers numbers;          /* of the attributes that are numbers */
    struct nb_tree *tree;               /* owned; NULL: no category depends on another one */
};

/* Makes the scores of the model's counts as they are; `settings` must stay. `pool`: the counts of
 * the parent, where the smoothing is {"m", "p": "parent"}, or NULL. Does nothing for models
 * without attributes; with sets it walks over all rows. Returns 0 or NB_NO_MEMORY. */
int nb_attribute_scores_make(struct nb_attribute_scores *scores, const struct nb_settings *settings,
                             const struct nb_model *model, const struct nb_model *pool);
void nb_attribute_scores_deinit(struct nb_attribute_scores *scores);
size_t nb_attribute_scores_memory(const struct nb_attribute_scores *scores);

/* Whether a feature of NB_FIELD_VALUE is evidence: a known value, or the presence of a set. `row`
 * is its row, or that of none. */
bool nb_attribute_says(const struct nb_attribute_scores *scores, const struct nb_feature *feature,
                       struct nb_row row);

/* The factor of a known value for the label at `place`; for a set, divided by the factor of the
 * value's absence. */
struct nb_factor nb_attribute_value(const struct nb_attribute_scores *scores,
                                    const struct nb_model *model, const struct nb_feature *feature,
                                    struct nb_row row, uint32_t place);

/* As nb_attribute_value, for a category or a number in a bin whose parent's value is known.
 * Both are rows or bins (nb_tree_value). */
struct nb_factor nb_attribute_value_given(const struct nb_attribute_scores *scores,
                                          const struct nb_model *model, uint32_t value,
                                          uint32_t given, uint32_t place);

/* What the presence of a set adds for the label at `place`, as if it had none of the known values.
 * `id` is that of the feature for the set's presence. */
struct nb_log_product nb_attribute_presence(const struct nb_attribute_scores *scores, uint64_t id,
                                            uint32_t place);

/* Adds the factor of a feature that is evidence (nb_attribute_says) for the label at `place`. */
void nb_attribute_add(const struct nb_attribute_scores *scores, const struct nb_model *model,
                      const struct nb_feature *feature, struct nb_row row, uint32_t place,
                      struct nb_log_product *product);

/* What is added to the counts of the value in `row` for the label at `place`. */
struct nb_addends nb_attribute_addends(const struct nb_attribute_scores *scores,
                                       const struct nb_model *model, struct nb_row row,
                                       uint32_t place);

/* How telling a value is for the label at `place`: ln of its estimate less that for all other
 * labels together; infinite where one of them is 0. Returns 0 if the row holds no value in use. */
double nb_attribute_evidence(const struct nb_attribute_scores *scores, const struct nb_model *model,
                             struct nb_row row, uint32_t place);

#endif
