/* SPDX-License-Identifier: Apache-2.0
 *
 * A model made from another one: a posterior becomes a prior (sequential learning). The new model
 * has the settings of the old one and the documents that it has learned, so what it learns from
 * then on comes to what the old one knew, as if one model had learned all of it: the counts are the
 * same integers. From then on neither knows of the other.
 */
#ifndef NB_CORE_COPY_COPY_H
#define NB_CORE_COPY_COPY_H

#include "core/engine/engine.h"

/* Makes the model `to` from one consistent state of `from`; waits for the disk. `seconds`: how long
 * the store may keep that state. `stop`, asked every few milliseconds, ends it with NB_STOPPING.
 * Returns 0; NB_NOT_FOUND: there is no `from`; NB_CONFLICT: `to` exists; NB_UNUSABLE: its name
 * cannot be one, or as nb_engine_put_model where a parent forbids it; or what an export and an
 * import return. Nothing is visible of a model that was not finished. */
int nb_model_copy(struct nb_engine *engine, struct nb_string from, struct nb_string to,
                  struct nb_string source, uint64_t seconds, bool (*stop)(void *user), void *user,
                  struct nb_error *error);

#endif
