/* SPDX-License-Identifier: Apache-2.0
 *
 * Adding changes to a batch. For core/writer/submit alone.
 */
#ifndef NB_CORE_WRITER_SUBMIT_SUBMIT_BATCH_PRIVATE_H
#define NB_CORE_WRITER_SUBMIT_SUBMIT_BATCH_PRIVATE_H

#include "core/writer/submit/submit_batch.h"

/* Finds and loads the model of the batch, unless the batch has it already; it is referenced until
 * the batch is freed. With `make`, a model that does not exist is created unsaved, with the preset
 * for the kind of the document. Returns 0 or a code (nb_registry_acquire, nb_registry_make). */
int nb_batch_acquire(struct nb_batch *batch, const struct nb_document *document, bool make,
                     struct nb_error *error);

/* Moves a finished change into the batch, which then owns it. If it could not be made (`rc` is
 * NB_NO_MEMORY) or the batch cannot grow, it is freed. Returns 0 or NB_NO_MEMORY. */
int nb_batch_end_change(struct nb_batch *batch, struct nb_submitted *change, int rc,
                        struct nb_error *error);

/* Adds a change that needs no document and that the caller has filled in. Takes ownership of it,
 * also on failure. Errors: as nb_batch_untrain. */
int nb_batch_add_bare(struct nb_batch *batch, struct nb_submitted *change, struct nb_string id,
                      struct nb_string source, struct nb_error *error);

#endif
