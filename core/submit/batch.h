/* SPDX-License-Identifier: Apache-2.0
 *
 * What the engine puts into batches beside what submit.h has. For core/engine and core/submit.
 */
#ifndef NB_CORE_SUBMIT_BATCH_H
#define NB_CORE_SUBMIT_BATCH_H

#include "core/stage/batch.h"
#include "core/submit/submit.h"

/* Adds a change that takes the document of the living entry `taken` out because of its age. On the
 * writer's thread. Errors: as nb_batch_untrain. */
int nb_batch_age(struct nb_batch *batch, struct nb_string id, uint64_t taken,
                 struct nb_error *error);

/* Writes the id of a document that has none of its own. Returns 0 or NB_NO_MEMORY. */
int nb_batch_make_id(const struct nb_key *key, const struct nb_document *document,
                     char made[NB_CONTENT_ID_LENGTH + 1]);

/* Adds a REFIT: the weights are fitted anew, or a slice of that is done if one is under way.
 * Errors: as nb_batch_untrain. */
int nb_batch_refit(struct nb_batch *batch, enum nb_refit_part part, struct nb_string source,
                   struct nb_error *error);

/* As nb_batch_train, but where the model needs fields first that it does not have, *needs_fields is
 * set and nothing else happens. */
int nb_batch_add(struct nb_batch *batch, const struct nb_document *document, struct nb_string label,
                 struct nb_string id, struct nb_string source, bool *needs_fields,
                 struct nb_error *error);

#endif
