/* SPDX-License-Identifier: Apache-2.0
 *
 * The features of a document as a change has them: with the rows that the counts have for them, or
 * with their texts. Any thread.
 */
#ifndef NB_CORE_SUBMIT_FEATURES_H
#define NB_CORE_SUBMIT_FEATURES_H

#include "core/stage/batch.h"

/* Looks the features of the bag up in the counts and gives them, with the lengths of the document,
 * to the change, which owns them. Takes the read lock of the counts. Returns 0 or NB_NO_MEMORY; the
 * caller frees the change in both cases. */
int nb_submitted_features(const struct nb_model *model, const struct nb_bag *bag,
                          struct nb_submitted *change);

/* Copies the text of one of the change's features into the change. Returns 0 or NB_NO_MEMORY. */
int nb_submitted_text(struct nb_submitted *change, struct nb_pending *feature,
                      struct nb_string text);

#endif
