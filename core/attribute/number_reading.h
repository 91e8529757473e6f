/* SPDX-License-Identifier: Apache-2.0
 *
 * What a number says for a label against all others together, as the stack reads counts
 * (core/score/stack.h): with a document left out or not, and smoothed by its experts. Each label
 * has a Gaussian, and so have the numbers of all others. To the variance of n numbers a / n of that
 * of all numbers is added, as if `a` numbers of all labels had been seen too: few numbers that are
 * alike say little. A reading stays within NB_NUMBER_READING_MOST, since the tails of a Gaussian
 * say more than there is to know.
 *
 * Threads: under the model's read lock.
 */
#ifndef NB_CORE_ATTRIBUTE_NUMBER_READING_H
#define NB_CORE_ATTRIBUTE_NUMBER_READING_H

#include "core/attribute/gaussian.h"
#include "core/model/counts.h"

#define NB_NUMBER_READING_MOST 8.0

struct nb_number_reading {
    const struct nb_model *model; /* borrowed */
    unsigned attribute;
    nb_int128 fixed;
    uint32_t without;      /* label of a document that is left out, or NB_NUMBER_OF_ALL */
    struct nb_moments all; /* of all labels */
    double variance;       /* of all labels; 0: the number says nothing */
};
#define NB_NUMBER_OF_ALL UINT32_MAX

/* Of the number of this id in a model of which these labels have documents. A document of the label
 * `without` is left out, which has the same number; NB_NUMBER_OF_ALL: none is. */
struct nb_number_reading nb_number_reading(const struct nb_model *model, uint64_t id,
                                           const uint32_t *labels, uint32_t size, uint32_t without);

/* ln of the label's density less that of all others'. The number says something; smoothing above 0.
 */
double nb_number_reading_of(const struct nb_number_reading *reading, uint32_t label,
                            double smoothing);

#endif
