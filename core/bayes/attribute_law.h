/* SPDX-License-Identifier: Apache-2.0
 *
 * The distribution of an attribute in the documents of a label: how many have a value, and which
 * values, under the estimate and the smoothing of the settings. With any event model, a category is
 * drawn once from the label's own counts, and a set is a Bernoulli for each value
 * (attribute_scores.h has the formulas). With structure tan, these functions return the marginal
 * distribution of a category; nb_value_law_given returns the probability given the parent's value.
 * Pure functions, under the model's read lock.
 */
#ifndef NB_CORE_BAYES_ATTRIBUTE_LAW_H
#define NB_CORE_BAYES_ATTRIBUTE_LAW_H

#include "core/bayes/settings.h"
#include "core/counts/counts.h"

struct nb_attribute_scores;

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

#endif
