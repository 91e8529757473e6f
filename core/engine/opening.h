/* SPDX-License-Identifier: Apache-2.0
 *
 * Opens an engine without a writer, for verification and rebuilding. One thread.
 */
#ifndef NB_CORE_ENGINE_OPENING_H
#define NB_CORE_ENGINE_OPENING_H

#include "core/engine/engine.h"
#include "core/model/state.h"

/* Opens a store that was just made, without a key and fields; the caller adds them
 * (nb_put_identity). */
int nb_engine_open_fresh(const struct nb_engine_settings *settings, struct nb_engine **engine,
                         struct nb_error *error);
/* Opens a store with possibly damaged tables for reading (nb_store_open_reading), without reading
 * anything. Bit t of *damaged is set if table t cannot be read. */
int nb_engine_open_damaged(const struct nb_engine_settings *settings, struct nb_engine **engine,
                           uint32_t *damaged, struct nb_error *error);
/* Puts the key of the engine and the names of the fields into the store: in META, and in an entry
 * of the ledger, from which a rebuild takes them. Returns 0 or a code. */
int nb_put_identity(struct nb_engine *engine, const struct nb_view *view, struct nb_error *error);
/* As nb_engine_open_reading, but does not create a store. NB_NOT_FOUND: the directory has no store;
 * its name may be mistyped. */
int nb_engine_open_existing(const struct nb_engine_settings *settings, struct nb_engine **engine,
                            struct nb_error *error);

#endif
