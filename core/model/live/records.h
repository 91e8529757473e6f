/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes records of a model, from memory, into the open transaction. On the writer's thread. Each
 * returns 0 or a code of the store.
 */
#ifndef NB_CORE_MODEL_LIVE_RECORDS_H
#define NB_CORE_MODEL_LIVE_RECORDS_H

#include "core/model/live/state.h"

/* Writes the record of the model, with these settings. The model must have its number. */
int nb_put_model(struct nb_engine *engine, const struct nb_view *view, struct nb_live *live,
                 const struct nb_settings *settings, struct nb_error *error);
/* Writes the record of a label. */
int nb_put_label(struct nb_engine *engine, const struct nb_view *view, const struct nb_live *live,
                 uint32_t label, struct nb_error *error);
/* Writes the ranges of weights that changed since the last commit, and counts new ones in the
 * checkpoint; so the state record must be written afterwards. */
int nb_put_weights(struct nb_engine *engine, const struct nb_view *view, struct nb_live *live,
                   struct nb_error *error);
/* Lists a model's number among the orphans, whose data will be deleted
 * (core/writer/upkeep/upkeep.h). */
int nb_put_orphan(const struct nb_view *view, uint32_t number, struct nb_error *error);

#endif
