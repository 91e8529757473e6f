/* SPDX-License-Identifier: Apache-2.0
 *
 * The features of a document as a change carries them: with their rows in the counts, or with their
 * texts. Any thread.
 */
#ifndef NB_CORE_WRITER_SUBMIT_FEATURES_H
#define NB_CORE_WRITER_SUBMIT_FEATURES_H

#include "core/writer/stage/batch.h"

/* Looks up the features of the batch's bag in the counts and stores them in the change, which owns
 * them, with the number of positions of the document. Takes the read lock of the counts. Returns 0
 * or NB_NO_MEMORY; the caller frees the change in both cases. */
int nb_submitted_features(struct nb_batch *batch, struct nb_submitted *change);
void nb_bag_rows_deinit(struct nb_bag_rows *rows);

/* Appends a feature to the change's others, with its text. There is room for it, not for the text.
 * Returns 0 or NB_NO_MEMORY. */
int nb_submitted_add(struct nb_submitted *change, uint64_t id, uint32_t count,
                     struct nb_string text);

#endif
