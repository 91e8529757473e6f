/* SPDX-License-Identifier: Apache-2.0
 *
 * The evidence of a number for a label against all others together, as the stack reads counts
 * (core/stack/score/stack.h): with or without leave-one-out, and smoothed by its experts.
 *
 * - By Gaussians each label has one, and so have the numbers of all others. To the variance of n
 *   numbers a / n of that of all numbers is added, as if `a` numbers of all labels had been seen
 *   too: few numbers that are alike say little. A reading stays within NB_NUMBER_READING_MOST,
 * since the tails of a Gaussian overstate the evidence.
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

/* Prepares the reading of the number with this id, for labels that have documents. `numbers`: the
 * model's, for the same labels in any order, if the settings let them be cut; or NULL. `without`:
 * the label of a left-out document that has the same number; NB_NUMBER_OF_ALL: none is left out. */
struct nb_number_reading nb_number_reading(const struct nb_model *model,
                                           const struct nb_numbers *numbers, uint64_t id,
                                           const uint32_t *labels, uint32_t size, uint32_t without);

/* Whether the number is evidence: numbers differ, or a document has a number in its bin. */
bool nb_number_reading_says(const struct nb_number_reading *reading);

/* Returns ln of the probability, or density, of the number for the label at this place of `labels`,
 * less that for all other labels. Call it only if nb_number_reading_says; smoothing above 0. */
double nb_number_reading_of(const struct nb_number_reading *reading, uint32_t place,
                            double smoothing);

#endif
