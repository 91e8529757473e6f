/* SPDX-License-Identifier: Apache-2.0
 *
 * The evidence of field values in the stacked score of a view: the formulas of
 * core/stack/stack_attributes.h over the view's counts, as core/stack/blend.h defines
 * them for words. With d, T and V of a field, and K and the scales as there:
 *
 *     r_v = ln(d_wv + K a) - ln(D_w - d_wv + K a)
 *           - ln(T_v + K a (V + 1)) + ln(T - T_v + K a (V + 1))
 *
 * A number is read with the two Gaussians of core/bayes/numbers.h, made from the numbers
 * of all sources; each number of the parent weighs s. K a / n of the variance of all numbers is
 * added to the variance of n numbers. The weight of a field is the mean of the weights that the
 * sources have learned for it, by their shares. So a model without documents has its parent's
 * evidence with the parent's weights. Rules as in blend.h.
 */
#ifndef NB_CORE_STACK_BLEND_ATTRIBUTES_H
#define NB_CORE_STACK_BLEND_ATTRIBUTES_H

#include "core/stack/blend_fields.h"

/* Forgets the document, if there was one. */
void nb_blend_attributes_empty(struct nb_blend *b);
/* Returns the number of fields that have a value in the document. */
uint32_t nb_blend_attribute_count(const struct nb_blend *b);
/* Notes a feature of NB_FIELD_VALUE, whose row is rows[i] in source i. Returns 0 or NB_NO_MEMORY.
 */
int nb_blend_attributes_note(struct nb_blend *b, uint64_t id, const uint32_t rows[NB_BLEND_MOST]);

/* Computes what the noted values add for each label, given b->features: attributes->stack is added
 * to the sum of the experts, attributes->twin to t_v. Returns 0 or NB_NO_MEMORY. */
int nb_blend_attributes_put(struct nb_blend *b);

/* Sets *evidence of the noted value number `value` for label `best` over `second`. Returns whether
 * the value is evidence. Call it after nb_blend_attributes_put. */
bool nb_blend_attributes_explain(struct nb_blend *b, size_t value, uint32_t best, uint32_t second,
                                 double *evidence);

/* Sets what the noted values add for a label against all others, with the weights for two labels:
 * *stack is added to the sum of the experts, *twin to t. `features`: the document's, by field.
 * Returns 0 or NB_NO_MEMORY. */
int nb_blend_attributes_against(struct nb_blend *b, const struct nb_stack_mix *weights,
                                const uint32_t features[NB_STACK_GROUPS], uint32_t label,
                                double *stack, double *twin);

#endif
