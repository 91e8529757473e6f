/* SPDX-License-Identifier: Apache-2.0
 *
 * Decides whether bins or Gaussians predict better, by the leave-one-out log-loss of both, as
 * core/bayes/attribute/numbers.h defines it. Pure functions, under the model's read lock.
 */
#ifndef NB_CORE_BAYES_ATTRIBUTE_NUMBER_LOSS_H
#define NB_CORE_BAYES_ATTRIBUTE_NUMBER_LOSS_H

#include "core/bayes/attribute/bins.h"

enum { NB_NUMBERS_COMPARED = 512 }; /* different numbers that are left out, at most */

/* An attribute whose numbers vary; all of it is borrowed. */
struct nb_number_field {
    const struct nb_settings *settings;
    const uint32_t *names; /* label numbers */
    uint32_t size;         /* of labels */
    size_t attribute;
    const struct nb_bins *bins;
    const struct nb_moments *all;        /* of the numbers of all labels */
    const struct nb_gaussian *gaussians; /* by place */
    double added;                        /* to variances */
};

/* Sets *bins_are_better if bins have the smaller loss over the attribute's numbers, or over the
 * sample that stands for them. Time: sampled numbers times labels, for each label that has them,
 * plus bins times labels squared, plus one look at every number. Returns 0 or NB_NO_MEMORY. */
int nb_number_compare(const struct nb_number_field *field, const struct nb_model *model,
                      const struct nb_number_span *numbers, bool *bins_are_better);

#endif
