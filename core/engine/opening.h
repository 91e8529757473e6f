/* SPDX-License-Identifier: Apache-2.0
 *
 * Opening without a writer: for verification and rebuilding. One thread.
 */
#ifndef NB_CORE_ENGINE_OPENING_H
#define NB_CORE_ENGINE_OPENING_H

#include "core/engine/engine.h"
#include "core/live/state.h"

/* Opens the store and reads the names of its models; nothing is changed (a new store apart). */
int nb_engine_open_reading(const struct nb_engine_settings *settings, struct nb_engine **engine,
                           struct nb_error *error);
/* The same; NB_NOT_FOUND: there is no store in the directory. A mistyped directory must not pass
 * for a good one. */
int nb_engine_open_existing(const struct nb_engine_settings *settings, struct nb_engine **engine,
                            struct nb_error *error);

#endif
