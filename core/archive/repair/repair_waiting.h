/* SPDX-License-Identifier: Apache-2.0
 *
 * The quarantine and the history in a rebuild: the ledger does not have them, so they are copied.
 * One thread.
 */
#ifndef NB_CORE_ARCHIVE_REPAIR_REPAIR_WAITING_H
#define NB_CORE_ARCHIVE_REPAIR_REPAIR_WAITING_H

#include "core/archive/repair/differences.h"
#include "core/ledger/entries/survey.h"

/* Copies the waiting changes and the stored verdicts of existing models. Unreadable ones are lost,
 * and reported. Returns 0 or a code. */
int nb_waiting_copy(const struct nb_view *from, struct nb_store *to, const struct nb_survey *survey,
                    struct nb_differences *d, struct nb_error *error);

#endif
