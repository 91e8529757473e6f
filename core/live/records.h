/* SPDX-License-Identifier: Apache-2.0
 *
 * The records of a model as they are in memory, put into the open transaction. On the writer's
 * thread. Each returns 0 or a code.
 */
#ifndef NB_CORE_LIVE_RECORDS_H
#define NB_CORE_LIVE_RECORDS_H

#include "core/live/state.h"

/* Puts the record of the model, with these settings. It must have its number. */
int nb_put_model(struct nb_engine *engine, const struct nb_view *view, struct nb_live *live,
                 const struct nb_settings *settings, struct nb_error *error);
/* Puts the record of a label, as the counts have it. */
int nb_put_label(struct nb_engine *engine, const struct nb_view *view, const struct nb_live *live,
                 uint32_t label, struct nb_error *error);
/* Puts the ranges of weights that changed since the last commit, and counts new ones in the
 * checkpoint, so the state is put after them. */
int nb_put_weights(struct nb_engine *engine, const struct nb_view *view, struct nb_live *live,
                   struct nb_error *error);
/* Lists the data of a model among those to be deleted (core/engine/purge.h). */
int nb_put_orphan(const struct nb_view *view, uint32_t number, struct nb_error *error);

#endif
