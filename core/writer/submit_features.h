/* SPDX-License-Identifier: Apache-2.0
 *
 * The features of a document in a change: each with its row in the counts, or with its text. Any
 * thread.
 */
#ifndef NB_CORE_WRITER_SUBMIT_FEATURES_H
#define NB_CORE_WRITER_SUBMIT_FEATURES_H

#include "core/writer/batch.h"

/* The features that are likely to be new when the writer comes to a change: they have no row, and
 * no earlier change of the batch has them. Their texts, which take longer to encode than the rest
 * of an entry, are encoded in advance on the caller's thread. If other batches bring some of these
 * features first, the encoded texts are useless, and the writer encodes the texts itself. One
 * thread at a time, as for the batch. */

/* Empties what a batch has foreseen and keeps its memory for the next batch, unless that is large
 * or was hardly used: then it is freed. NULL is accepted. */
void nb_foreseen_put_back(struct nb_engine *engine, struct nb_foreseen **foreseen);
void nb_foreseen_free(struct nb_foreseen **foreseen);
/* Returns about how many bytes the slots of `foreseen` take; 0 for NULL. */
size_t nb_foreseen_memory(const struct nb_foreseen *foreseen);

/* Looks up the features of the batch's bag in the counts and stores them in the change, which owns
 * them, with the number of positions of the document. Takes the read lock of the counts. Returns 0
 * or NB_NO_MEMORY; the caller frees the change in both cases. */
int nb_submitted_features(struct nb_batch *batch, struct nb_submitted *change);
void nb_bag_rows_deinit(struct nb_bag_rows *rows);

/* Appends a feature to the change's others, with its text. The change has room for the feature, but
 * not for its text. Returns 0 or NB_NO_MEMORY. */
int nb_submitted_add(struct nb_submitted *change, uint64_t id, uint32_t count,
                     struct nb_string text);

#endif
