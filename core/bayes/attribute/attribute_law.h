/* SPDX-License-Identifier: Apache-2.0
 *
 * The distribution of an attribute in the documents of a label: how many have a value, and which
 * values, under the estimate and the smoothing of the settings. Whatever the event model
 * is, a category is drawn once from the label's own counts, and a set is a Bernoulli for each value
 * (attribute_scores.h has the formulas). With structure tan this is the marginal distribution of a
 * category; nb_value_law_given has its values given those of its parent. Pure functions, under the
 * model's read lock.
 */
#ifndef NB_CORE_BAYES_ATTRIBUTE_ATTRIBUTE_LAW_H
#define NB_CORE_BAYES_ATTRIBUTE_ATTRIBUTE_LAW_H

#include "core/bayes/settings/settings.h"
#include "core/counts/counts.h"

struct nb_attribute_scores;

struct nb_attribute_law {
    uint64_t documents; /* of the label, that have a value */
    uint64_t values;    /* of a category or a set: those that documents of any label have */
    uint64_t words;     /* of a text: those of all these documents, each as often as it occurs */
    bool has_number;    /* of a number, of which some document has one: its Gaussian */
    double mean, deviation;
};

/* Returns the law of the attribute for the label at `place`; `settings` are those of the scores. If
 * all numbers of the model are equal, their deviation is 0. */
struct nb_attribute_law nb_attribute_law_of(const struct nb_attribute_scores *scores,
                                            const struct nb_settings *settings,
                                            const struct nb_model *model, size_t attribute,
                                            uint32_t place);

/* A value of a category or a set. Its posterior is Beta(own, others): the marginal of the Dirichlet
 * posterior of a category's values, or that of a set's Bernoulli. Either can be 0, where that is
 * certain. */
struct nb_value_law {
    size_t attribute;
    uint64_t count; /* of the label's documents */
    double probability;
    double own, others;
};

/* Sets *law to that of the value in `row` for the label at `place`. Returns false if the row holds
 * no such value, or one that no document has. */
bool nb_value_law_of(const struct nb_attribute_scores *scores, const struct nb_settings *settings,
                     const struct nb_model *model, struct nb_row row, uint32_t place,
                     struct nb_value_law *law);

/* A word of a text, by the multinomial model whatever the event model is, as nb_word_law (core/
 * score/explain.h) has those of the document itself: P(w | v) = (count + addend) / what these are
 * of all words of the attribute. */
struct nb_text_word {
    size_t attribute;
    uint64_t count; /* n_wv, or d_wv with the binary model */
    double addend;  /* may be 0 */
};

/* Sets *word to the word in `row` for the label at `place`. Returns false if the row holds no word
 * of a text, or one that no document has. */
bool nb_text_word_of(const struct nb_attribute_scores *scores, const struct nb_settings *settings,
                     const struct nb_model *model, struct nb_row row, uint32_t place,
                     struct nb_text_word *word);

/* The attribute on which a category depends in the tree; SIZE_MAX: on none, or there is no tree. */
size_t nb_attribute_law_parent(const struct nb_attribute_scores *scores, size_t attribute);
/* P of the value in `row` for the label at `place`, given the value of its parent in row `given`;
 * both values occur in documents. 0 if no document of the label has the parent's value and there is
 * no prior. */
double nb_value_law_given(const struct nb_attribute_scores *scores, const struct nb_model *model,
                          uint32_t row, uint32_t given, uint32_t place);

#endif
