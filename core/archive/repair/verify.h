/* SPDX-License-Identifier: Apache-2.0
 *
 * The comparison of a store with its ledger, for verification and for the report of a rebuild. One
 * thread.
 */
#ifndef NB_CORE_ARCHIVE_REPAIR_VERIFY_H
#define NB_CORE_ARCHIVE_REPAIR_VERIFY_H

#include "core/archive/repair/differences.h"
#include "core/ledger/entries/survey.h"

struct nb_engine;

/* Compares everything in the store with the results of the ledger. `survey` is filled in; the
 * caller deinits it. Returns 0 (also when something differs) or a code. */
int nb_compare(struct nb_engine *engine, struct nb_survey *survey, struct nb_differences *d,
               struct nb_error *error);

#endif
