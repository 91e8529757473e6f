/* SPDX-License-Identifier: Apache-2.0
 *
 * The features that are likely to be new when the writer comes to a change: those that no change
 * before it in its batch has. Their texts, the part of an entry that takes longest to encode, are
 * encoded on the caller's thread then. If other batches bring some of these features first, what
 * was encoded is of no use, and the writer encodes the texts itself: nothing depends on it. One
 * thread at a time, as the batch.
 */
#ifndef NB_CORE_WRITER_SUBMIT_FORESEE_H
#define NB_CORE_WRITER_SUBMIT_FORESEE_H

#include "core/writer/stage/batch.h"

/* Marks the features of the change that are likely to be new. Encodes their texts, unless the model
 * keeps none, or the writer did not find the last change as it was foreseen. Returns 0 or
 * NB_NO_MEMORY. */
int nb_foresee(struct nb_batch *batch, struct nb_submitted *change);

/* Empties what a batch has foreseen and keeps its memory for the next batch, unless that is large
 * or was hardly used: then it is freed. NULL is accepted. */
void nb_foreseen_put_back(struct nb_engine *engine, struct nb_foreseen **foreseen);
void nb_foreseen_free(struct nb_foreseen **foreseen);
/* About how many bytes the slots of what was foreseen take; NULL: 0. */
size_t nb_foreseen_memory(const struct nb_foreseen *foreseen);

#endif
