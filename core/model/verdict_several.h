/* SPDX-License-Identifier: Apache-2.0
 *
 * Verdicts of models whose documents have several labels (core/stack/multilabel.h): an independent
 * probability for each label, and those that the document is given. For core/model/verdict_score.c,
 * under the locks of the chain.
 */
#ifndef NB_CORE_MODEL_VERDICT_SEVERAL_H
#define NB_CORE_MODEL_VERDICT_SEVERAL_H

#include "core/model/verdict_parts.h"

/* Fills the verdict on the bag, with an explanation of at most `most` tokens (0: none) for the
 * label verdict->explain_label, or the most probable one. Returns 0, NB_CONFLICT (nothing is
 * learned yet), NB_NOT_FOUND (the label to explain is not there) or NB_NO_MEMORY. */
int nb_verdict_score_several(struct nb_verdict *verdict, size_t most, struct nb_error *error);

#endif
