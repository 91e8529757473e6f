/* SPDX-License-Identifier: Apache-2.0
 *
 * Values of fields in a view of several sources, for core/stack/blend and its tests: the formulas
 * of core/bayes/attribute/attribute_scores.h over the view's counts, as core/stack/blend.h
 * has them for words. With own n and parent's n' of a field, and b what the estimate adds:
 *
 * - a category: P(m|v) = (n_mv + s n'_mv + K b) / (n_v + s n'_v + K b values), values is the number
 *   of values in the source that has the most;
 * - a set: P(m|v) = (d_mv + s d'_mv + K b) / (D_v + s D'_v + 2 K b) for each value that any source
 *   has seen, which a walk over their rows finds;
 * - a text: as the words, over the field's own vocabulary;
 * - a number: a Gaussian of the numbers of all sources, each of the parent's weighing s. A label
 *   with one number in all has the variance of all labels' numbers, one without any the mean, too.
 *   1e-9 of the largest variance of a field is added to each.
 *
 * Counts beside those of the first source (core/bayes/expected) are added to its own, numbers of
 * documents without a label by their shares. A model whose parent gives p alone, and one source
 * with nothing beside it, use the other formulas (blend_fields.c). Rules as in blend.h.
 */
#ifndef NB_CORE_STACK_BLEND_FIELDS_H
#define NB_CORE_STACK_BLEND_FIELDS_H

#include "core/stack/blend_private.h"

/* Returns the numbers of a field for a label, by its place, and for all labels. `out`: a number
 * (nb_decimal_fixed) of a document of the first source and the label that is left out, or NULL. */
struct nb_normal
nb_blend_numbers_of(const struct nb_blend *b, unsigned field, uint32_t place,
                    const nb_int128 *out); /* ln of the density at a number under the Gaussian of
                                            * `own`, among `all`, with `added` to its variance. */
double nb_blend_numbers_log(struct nb_normal own, struct nb_normal all, double added,
                            double number);

#endif
