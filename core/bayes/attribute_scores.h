/* SPDX-License-Identifier: Apache-2.0
 *
 * Values of attributes by the book: CLASSIFY-NEW-INSTANCE (Mitchell 1997, section 6.9) adds ln
 * P(a|v) for each attribute of which the document has a value. Each attribute has its own
 * vocabulary of values seen. b is what the estimate adds to counts (core/bayes/estimate.h); in
 * these formulas it is one number:
 *
 * - a category is drawn once: P(m|v) = (n_mv + b) / (n_v + b values), where n_v is the number of
 * the label's documents that have a value of the attribute;
 * - a set is a Bernoulli for each value seen: P(m|v) = (d_mv + b) / (D_v + 2b), where D_v is the
 *   number of the label's documents that have a set there, even an empty one;
 * - a number has a Gaussian for each label, with any event model and estimate, and is no evidence
 * if all learned numbers are equal; or it is cut into bins, which are values of a category
 *   (core/bayes/numbers.h);
 * - a text follows the event model of the settings. With the Bernoulli model it is like a set.
 *
 * A smoothing by label gives each label its own b_v. Smoothing by alpha and beta adds alpha to the
 * documents whose set has the value and beta to those whose set lacks it; elsewhere b is alpha. The
 * m-estimate adds m p to the numerator and m to the denominator; p is 1 / values (for a set 1 / 2),
 * or the value's share of the attribute's counts in all labels. If each value has its own number,
 * b_m is added to the numerator and the sum over all values seen (for a set 2 b_m) to the
 * denominator: the full Dirichlet prior; numbers may differ by label, too. In the m-estimate with p
 * from a parent (core/stack/blend.h) p is Laplace's estimate from the parent's counts of the
 * attribute in all labels together: (n'_m + 1) / (n' + values' + 1), for a set (d'_m + 1) / (D' +
 * 2); 1 / values if the parent has no counts; for bins 1 / bins.
 *
 * The complement model takes the counts of all other labels, except for sets and numbers. An
 * attribute without a value in the document adds nothing, and learning counts nothing for it.
 *
 * With "structure": "tan" a category has another category as its parent
 * (core/bayes/tree.h; bins of numbers are categories). Given the parent's value y, its
 * probability is P(m|yv) = (n_myv + b) / (n_yv + b values), from documents that have both. If the
 * document has no value of the parent, or no learned document has that value, it is P(m|v) as
 * above.
 *
 * Threads: one thread makes the scores; any number read them, under the model's read lock.
 */
#ifndef NB_CORE_BAYES_ATTRIBUTE_SCORES_H
#define NB_CORE_BAYES_ATTRIBUTE_SCORES_H

#include "core/bayes/estimate.h"
#include "core/bayes/numbers.h"
#include "core/bayes/settings.h"
#include "core/bayes/tree.h"
#include "core/counts/counts.h"

struct nb_attribute_scores;

/* ---- laws ------------------------------------------------------------------------------------ */

/* The distribution of an attribute in the documents of a label: how many have a value, and which
 * values, under the estimate and the smoothing of the settings. With any event model, a category is
 * drawn once from the label's own counts, and a set is a Bernoulli for each value
 * (the formulas stand above). With structure tan, these functions return the marginal
 * distribution of a category; nb_value_law_given returns the probability given the parent's value.
 * Pure functions, under the model's read lock. */
struct nb_attribute_law {
    uint64_t documents; /* of the label, with a value of the attribute */
    uint64_t values;    /* category or set: number of values that documents of any label have */
    uint64_t words;     /* text: number of word occurrences in the `documents` */
    bool has_number;    /* number: a document has one, and the Gaussian below is set */
    double mean, deviation;
};

/* Returns the law of the attribute for the label at `place`; `settings` are those of the scores. If
 * all numbers of the model are equal, their deviation is 0. */
struct nb_attribute_law nb_attribute_law_of(const struct nb_attribute_scores *scores,
                                            const struct nb_settings *settings,
                                            const struct nb_model *model, size_t attribute,
                                            uint32_t place);

/* A value of a category or a set. Its posterior is Beta(own, others): the marginal of a category's
 * Dirichlet posterior, or the posterior of a set's Bernoulli. `own` or `others` is 0 if the value
 * or its absence is impossible. */
struct nb_value_law {
    size_t attribute;
    uint64_t count; /* documents of the label that have it */
    double probability;
    double own, others;
};

/* Sets *law for the value in `row` and the label at `place`. Returns false if the row holds no
 * value of a category or set, or one that no document has. */
bool nb_value_law_of(const struct nb_attribute_scores *scores, const struct nb_settings *settings,
                     const struct nb_model *model, struct nb_row row, uint32_t place,
                     struct nb_value_law *law);

/* A word of a text, always by the multinomial model, as in struct nb_word_law
 * (core/bayes/explain.h) for words of the document itself: P(w | v) = (count + addend) / the
 * sum of the same over all words of the attribute. */
struct nb_text_word {
    size_t attribute;
    uint64_t count; /* n_wv, or d_wv with the binary model */
    double addend;  /* may be 0 */
};

/* Sets *word for the word in `row` and the label at `place`. Returns false if the row holds no word
 * of a text, or one that no document has. */
bool nb_text_word_of(const struct nb_attribute_scores *scores, const struct nb_settings *settings,
                     const struct nb_model *model, struct nb_row row, uint32_t place,
                     struct nb_text_word *word);

/* The attribute that is a category's parent in the tree; SIZE_MAX: no parent, or no tree. */
size_t nb_attribute_law_parent(const struct nb_attribute_scores *scores, size_t attribute);
/* P of the value in `row` for the label at `place`, given the value of its parent in row `given`;
 * both values occur in documents. 0 if no document of the label has the parent's value and there is
 * no prior. */
double nb_value_law_given(const struct nb_attribute_scores *scores, const struct nb_model *model,
                          uint32_t row, uint32_t given, uint32_t place);

/* Values may have a smoothing of their own: a Dirichlet prior with one parameter for each value of
 * a category, or Beta(a, a) with its own a for each value of a set
 * (core/bayes/smoothing.h). Pure functions, under the model's read lock. */

/* Counts and addends of an attribute and a label. */
struct nb_attribute_label {
    uint64_t documents;         /* D_v */
    struct nb_addends addends;  /* for every value, unless they differ by value */
    double added;               /* what is added to n_v, or to D_v */
    uint64_t sum;               /* n_v; with the binary model the sum of d_mv over the values */
    double ends;                /* ln of the denominator of an estimate; 0 if that is 0 */
    struct nb_log_product none; /* Bernoulli: of a document whose set has no known value */
};

struct nb_attribute_counts {
    enum nb_event_model event;
    uint64_t vocabulary;
    uint64_t sum;       /* n_v of all labels */
    uint64_t documents; /* D_v of all labels */
    bool has_addends;   /* each value has its own addends */
    double pool_sum;    /* denominator of the parent's p_m; 0: it has no counts */
};

/* All zeros: there are no attributes. */
struct nb_attribute_scores {
    size_t count;                /* of attributes */
    uint32_t size;               /* of labels with documents, in the order of their names */
    double by_value;             /* m of an m-estimate whose addends differ by value; else 0 */
    const struct nb_model *pool; /* borrowed: the counts that give p; NULL: the model's own */
    uint32_t *names;             /* label numbers; owned */
    struct nb_attribute_counts *counts; /* by attribute; owned */
    struct nb_attribute_label *labels;  /* [attribute * size + place]; owned */
    size_t room;                        /* of `labels` */
    const struct nb_settings *settings; /* borrowed */
    struct nb_numbers numbers;          /* evidence of numeric attributes */
    struct nb_tree *tree;               /* owned; NULL: no category depends on another one */
};

/* Makes the scores from the model's current counts; `settings` must outlive them. `pool`: the
 * counts of the parent if the smoothing is {"m", "p": "parent"}, or NULL. Does nothing for models
 * without attributes; with sets it walks over all rows. Returns 0 or NB_NO_MEMORY. */
int nb_attribute_scores_make(struct nb_attribute_scores *scores, const struct nb_settings *settings,
                             const struct nb_model *model, const struct nb_model *pool);
void nb_attribute_scores_deinit(struct nb_attribute_scores *scores);
size_t nb_attribute_scores_memory(const struct nb_attribute_scores *scores);

/* Whether a feature of NB_FIELD_VALUE is evidence: a known value, or the presence of a set. `row`
 * is its row, or one without counts (nb_model_row_or_none). */
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

/* What the presence of a set adds for the label at `place`, as if the set had none of the known
 * values. `id` is the feature for the set's presence. */
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

/* Returns how telling a value is for the label at `place`: ln of its estimate minus ln of its
 * estimate for all other labels together; infinite if one estimate is 0. Returns 0 if the row holds
 * no value in use. */
double nb_attribute_evidence(const struct nb_attribute_scores *scores, const struct nb_model *model,
                             struct nb_row row, uint32_t place);

#endif
