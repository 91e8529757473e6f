/* SPDX-License-Identifier: Apache-2.0
 *
 * What a number says for a label against all others together, as the stack reads counts
 * (core/stack/score/stack.h): with a document left out or not, and smoothed by its experts.
 *
 * - By Gaussians each label has one, and so have the numbers of all others. To the variance of n
 *   numbers a / n of that of all numbers is added, as if `a` numbers of all labels had been seen
 *   too: few numbers that are alike say little. A reading stays within NB_NUMBER_READING_MOST,
 * since the tails of a Gaussian say more than there is to know.
 * - Of numbers that are cut (numbers.h) the bin is a value of a category, with the formula of the
 *   stack, in which V is the number of bins. A bin that only the document that is left out has is
 *   one that nobody has seen. The borders of bins, and the choice between bins and Gaussians, stay
 *   those of all documents: to cut anew without each of them would be a walk over all numbers.
 *
 * Threads: under the model's read lock.
 */
#ifndef NB_CORE_BAYES_ATTRIBUTE_NUMBER_READING_H
#define NB_CORE_BAYES_ATTRIBUTE_NUMBER_READING_H

#include "core/bayes/attribute/numbers.h"

#define NB_NUMBER_READING_MOST 8.0

struct nb_number_reading {
    const struct nb_model *model; /* borrowed */
    const uint32_t *labels;       /* borrowed */
    unsigned attribute;
    nb_int128 fixed;
    uint32_t without; /* label of a document that is left out, or NB_NUMBER_OF_ALL */
    const struct nb_numbers *numbers; /* borrowed; NULL: by Gaussians */
    size_t bin;                       /* that the number lies in, if it is cut */
    struct nb_moments all;            /* by Gaussians: of all labels */
    double variance;                  /* of all labels; 0: the number says nothing */
};
#define NB_NUMBER_OF_ALL UINT32_MAX

/* Of the number of this id in a model of which these labels have documents. `numbers` are the
 * model's, of the same labels in any order, if the settings let them be cut; or NULL. A document of
 * the label `without` is left out, which has the same number; NB_NUMBER_OF_ALL: none is. */
struct nb_number_reading nb_number_reading(const struct nb_model *model,
                                           const struct nb_numbers *numbers, uint64_t id,
                                           const uint32_t *labels, uint32_t size, uint32_t without);

/* Whether the number says anything: numbers differ, or a document has one of its bin. */
bool nb_number_reading_says(const struct nb_number_reading *reading);

/* ln of the probability, or density, that the label at this place of `labels` gives it, less that
 * of all others'. The number says something; smoothing above 0. */
double nb_number_reading_of(const struct nb_number_reading *reading, uint32_t place,
                            double smoothing);

#endif
