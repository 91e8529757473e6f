/* SPDX-License-Identifier: Apache-2.0
 *
 * Values of fields in a view of several sources, for core/stack/blend and its tests: the formulas
 * of core/bayes/attribute_scores.h over the view's counts, as core/stack/blend.h
 * defines them for words. With n from the model and n' from the parent, and b what the estimate
 * adds to counts:
 *
 * - a category: P(m|v) = (n_mv + s n'_mv + K b) / (n_v + s n'_v + K b values), where values is the
 *   number of values in the source that has the most;
 * - a set: P(m|v) = (d_mv + s d'_mv + K b) / (D_v + s D'_v + 2 K b) for each value that any source
 *   has seen; a walk over the rows of the sources finds them;
 * - a text: like words, over the field's own vocabulary;
 * - a number: a Gaussian of the numbers of all sources, where each number of the parent weighs s. A
 *   label with only one number in all gets the variance of all labels' numbers; a label without
 *   numbers gets their mean, too. 1e-9 of the largest variance of a field is added to each
 * variance.
 *
 * Counts beside those of the first source (core/bayes) are added to its own; numbers of
 * documents without a label are weighted by their shares. A model whose parent gives only p, and a
 * single source without counts beside it, use the formulas of attribute_scores.h (blend_fields.c).
 * Rules as in blend.h.
 */
#ifndef NB_CORE_STACK_BLEND_FIELDS_H
#define NB_CORE_STACK_BLEND_FIELDS_H

#include "core/stack/blend_private.h"

/* Returns the numbers of a field for the label at a place. `out`: a number (nb_decimal_fixed) of a
 * left-out document with this label in the first source, or NULL. */
struct nb_normal nb_blend_numbers_of(const struct nb_blend *b, unsigned field, uint32_t place,
                                     const nb_int128 *out);
/* Returns ln of the density at a number under the Gaussian of `own`, a part of `all`, with `added`
 * added to its variance. */
double nb_blend_numbers_log(struct nb_normal own, struct nb_normal all, double added,
                            double number);

#endif
