/* SPDX-License-Identifier: Apache-2.0
 *
 * A fold of the documents with a label: fits without it, and its scores. For
 * core/em/guard_*.c alone.
 */
#ifndef NB_CORE_EM_GUARD_FOLD_H
#define NB_CORE_EM_GUARD_FOLD_H

#include "core/em/guard_trial.h"

/* Scores the documents of a fold without their own counts, with each candidate and with none.
 * Returns 0 or a code of a fit or a score. */
int nb_guard_try_fold(struct nb_guard_trial *t, uint32_t fold);

#endif
