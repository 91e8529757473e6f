/* SPDX-License-Identifier: Apache-2.0
 *
 * Which models the store has, read into the registry at the start. One thread.
 */
#ifndef NB_CORE_LIVE_ROSTER_H
#define NB_CORE_LIVE_ROSTER_H

#include "core/live/state.h"

/* Reads the names of all models from the store, without loading any. A model whose record is
 * damaged is found in the ledger, and marked damaged: it can be deleted and replaced. NB_CORRUPT:
 * the ledger is damaged as well, so that nobody knows which models there are. */
int nb_roster_read(struct nb_engine *engine, struct nb_error *error);

#endif
