/* SPDX-License-Identifier: Apache-2.0
 *
 * Changes that the engine makes to a model by itself or for a document, when several nodes make
 * them in the same order (core/model/live/relay.h). On a thread that applies operations; waits for
 * the disk.
 */
#ifndef NB_CORE_ENGINE_RELAYED_CHANGES_H
#define NB_CORE_ENGINE_RELAYED_CHANGES_H

#include <stdint.h>

#include "core/base/error.h"
#include "core/base/string.h"

struct nb_engine;
struct nb_settings;

/* Adds the fields of `settings` that the model does not have. Returns as nb_engine_put_model. */
int nb_engine_put_fields(struct nb_engine *engine, struct nb_string model,
                         const struct nb_settings *settings, struct nb_string source,
                         struct nb_error *error);
/* Gives the model the map of `settings`, which was fitted when the model's newest entry was `last`.
 * NB_CONFLICT: the model has changed since. Otherwise as nb_engine_put_model. */
int nb_engine_put_fitted(struct nb_engine *engine, struct nb_string model, uint64_t last,
                         const struct nb_settings *settings, struct nb_error *error);

#endif
