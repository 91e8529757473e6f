/* SPDX-License-Identifier: Apache-2.0
 *
 * Changes on their way into operations, and out of them. Any thread.
 */
#ifndef NB_CORE_NODES_CARRY_H
#define NB_CORE_NODES_CARRY_H

#include "core/nodes/operation.h"
#include "core/writer/stage/batch.h"

/* Writes the change of the batch with this index as an operation. `last`: the condition of
 * nb_relayed, or 0. Returns 0, NB_DAMAGED (the model), NB_NO_MEMORY or a code of the store. */
int nb_carry_write(const struct nb_batch *batch, size_t index, int64_t time, uint64_t last,
                   struct nb_buffer *out, struct nb_error *error);

/* Makes a batch of the one change that the operation at `here` is, for the writer; the caller frees
 * it, and keeps what `here` borrows until the writer is done.
 * `single` as for nb_batch_new. Returns 0, NB_TOO_LARGE (too many models) or NB_NO_MEMORY. */
int nb_carry_read(struct nb_engine *engine, const struct nb_operation *operation,
                  const struct nb_relayed *here, bool single, struct nb_batch **batch,
                  struct nb_error *error);

#endif
