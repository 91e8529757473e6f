/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions on batches that only core/engine, core/nodes and core/writer/submit need, besides those
 * of submit.h.
 */
#ifndef NB_CORE_WRITER_SUBMIT_SUBMIT_BATCH_H
#define NB_CORE_WRITER_SUBMIT_SUBMIT_BATCH_H

#include "core/writer/stage/staged_batch.h"
#include "core/writer/submit/submit.h"

/* Adds a change that forgets the document of the current entry `taken` because of its age. On the
 * writer's thread. Errors: as nb_batch_untrain. */
int nb_batch_age(struct nb_batch *batch, struct nb_string id, uint64_t taken,
                 struct nb_error *error);

/* Makes the id of a document that came without one, from its content. Returns 0 or NB_NO_MEMORY. */
int nb_batch_make_id(const struct nb_key *key, const struct nb_document *document,
                     char made[NB_CONTENT_ID_LENGTH + 1]);

/* Adds a REFIT entry: begins a refit of the weights, or runs a slice of the one that is under way.
 * Errors: as nb_batch_untrain. */
int nb_batch_refit(struct nb_batch *batch, enum nb_refit_part part, struct nb_string source,
                   struct nb_error *error);

/* Frees what the change owns. */
void nb_submitted_deinit(struct nb_submitted *change);

/* Adds a change that was made on another node; takes ownership of it, also on failure. A model that
 * does not exist is made unsaved with the settings; whether it may come into being is seen when the
 * change is staged. Returns 0, NB_TOO_LARGE (models) or NB_NO_MEMORY. */
int nb_batch_take(struct nb_batch *batch, const struct nb_settings *settings,
                  struct nb_submitted *change, struct nb_error *error);

/* As nb_batch_train, but if the document has fields that must be added to the model's settings
 * first, only sets *needs_fields and returns 0. */
int nb_batch_add(struct nb_batch *batch, const struct nb_document *document, struct nb_string label,
                 struct nb_string id, struct nb_string source, bool *needs_fields,
                 struct nb_error *error);

#endif
