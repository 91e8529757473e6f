/* SPDX-License-Identifier: Apache-2.0
 *
 * Two labels: the rows of a document that the counts have, with or without leave-one-out. Under the
 * model's read lock, or on the writer's thread; inputs belong to one thread.
 */
#ifndef NB_CORE_STACK_SCORE_STACK_TWO_ROWS_H
#define NB_CORE_STACK_SCORE_STACK_TWO_ROWS_H

#include "core/stack/score/stack_private.h"

/* Two labels: the features of a bag, whose rows were found for all formulas at once. Under the
 * model's read lock; inputs belong to one thread. */

/* Notes the features of a bag, and where in it they are. `known` as in nb_model_step_cells. */
void nb_stack_two_note_bag(const struct nb_stack_pass *p, const struct nb_feature *features,
                           size_t size, const struct nb_found *known);
/* Sums a bag with the usual bank: all is known when a row is read, and nothing need be noted. Of
 * labels 0 and 1. Only where __SSE2__ is defined. */
void nb_stack_two_sum_bag(const struct nb_stack_pass *p, const struct nb_feature *features,
                          size_t size, const struct nb_found *known);

/* Notes all rows of a document, and counts its features. Returns how many belong to no field. */
size_t nb_stack_two_note_rows(const struct nb_stack_pass *p, const struct nb_row_count *rows,
                              size_t size, struct nb_stack_without *without);
/* As nb_stack_two_note_rows, but sums the rows of a document that is not left out, with the usual
 * bank. Of labels 0 and
 * 1. Only where __SSE2__ is defined. */
size_t nb_stack_two_sum_rows(const struct nb_stack_pass *p, const struct nb_row_count *rows,
                             size_t size, struct nb_stack_without *without);

#endif
