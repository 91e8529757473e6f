/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the list of models from the store into the registry, at the start. One thread.
 */
#ifndef NB_CORE_MODEL_REGISTRY_ROSTER_H
#define NB_CORE_MODEL_REGISTRY_ROSTER_H

#include "core/model/live/state.h"

/* Reads the names of all models from the store, without loading any. Finds a model with a damaged
 * record in the ledger, and marks it as damaged: it can be deleted or replaced. NB_CORRUPT: the
 * ledger is damaged as well, so the list of models is not known. */
int nb_roster_read(struct nb_engine *engine, struct nb_error *error);

#endif
