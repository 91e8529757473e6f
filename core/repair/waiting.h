/* SPDX-License-Identifier: Apache-2.0
 *
 * The quarantine in a rebuild: the ledger does not have it, so it is copied. One thread.
 */
#ifndef NB_CORE_REPAIR_WAITING_H
#define NB_CORE_REPAIR_WAITING_H

#include "core/repair/verify.h"
#include "core/store/survey.h"

/* Copies the changes that wait for models which there are. Those that do not read back are lost,
 * and told. Returns 0 or a code. */
int nb_waiting_copy(const struct nb_view *from, struct nb_store *to, const struct nb_survey *survey,
                    struct nb_differences *d, struct nb_error *error);

#endif
