/* SPDX-License-Identifier: Apache-2.0
 *
 * A map that was fitted becomes a part of the model: one SETTINGS entry. On the writer's thread.
 */
#ifndef NB_CORE_WRITER_RECALIBRATE_SETTLE_H
#define NB_CORE_WRITER_RECALIBRATE_SETTLE_H

#include "core/model/live/state.h"

/* Stores and publishes the settings that a model has, which is persisted and loaded and has no
 * parent, with the map that was fitted; copied. Returns 0, or a code with nothing changed. */
int nb_put_fitted(struct nb_engine *engine, struct nb_live *live,
                  const struct nb_settings *settings);

#endif
