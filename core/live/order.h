/* SPDX-License-Identifier: Apache-2.0
 *
 * Weights that do not depend on the order of training: how much a document teaches. Pure functions
 * on the numbers that a model's weights carry for it (nb_stack_weights_order). On the thread that
 * changes the weights.
 *
 * Who trains a folder of spam and then a folder of ham shows the weights no document of which the
 * label was in doubt: the bias follows what came last. So a document of a label that comes far more
 * often than its share of the documents teaches less, and what it does not teach is made up for by
 * documents that are drawn from all that are living. With D documents, D_v of label v, before the
 * change, and recent documents c_v, C of which each fades by a factor of 1 - 1/20 with the next:
 *
 *     pi = (D_y + 1) / (D + 2)          the share of the label y among all documents
 *     q  = (c_y + 2 pi) / (C + 2)       and among recent ones
 *     w  = min(1, 8 (pi / (1 - pi)) / (q / (1 - q)))
 *
 * The document teaches with weight w. 1 - w is credit; for each whole of it a document that is
 * drawn teaches with weight 1, by its leave-one-out inputs. In a mixed stream w is 1.
 */
#ifndef NB_CORE_LIVE_ORDER_H
#define NB_CORE_LIVE_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/score/weights.h"

/* The weight of a document of a label that `of_label` of `documents` have, itself not among them.
 * Above 0, at most 1. */
double nb_order_weight(const struct nb_weights *order, uint32_t label, uint64_t of_label,
                       uint64_t documents);
/* A document of the label has taught with this weight. Returns 0 or NB_NO_MEMORY, and then nothing
 * was changed. */
int nb_order_count(struct nb_weights *order, uint32_t label, double weight);
/* Takes one from the credit, if there is a whole one; nb_order_count has made room for that. */
bool nb_order_take_credit(struct nb_weights *order);

#endif
