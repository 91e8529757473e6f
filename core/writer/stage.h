/* SPDX-License-Identifier: Apache-2.0
 *
 * Staging: writes a submitted change of a document to the ledger as an entry, in the open
 * transaction, and applies it to the counts. On the writer's thread.
 */
#ifndef NB_CORE_WRITER_STAGE_H
#define NB_CORE_WRITER_STAGE_H

#include "core/writer/staging.h"

/* Stages one change of the group. If the change is refused, its receipt says why, and the group
 * goes on. The same holds for damage, which also marks the model. Returns 0, or a code that fails
 * the whole group: NB_CORRUPT if damage was met amid writing, which is noted with the model. */
int nb_stage(struct nb_staging *staging, struct nb_group *group, struct nb_view *view,
             struct nb_group_item *item, struct nb_error *error);

/* Takes a staged change out of the counts again. Does nothing if the change was not staged. Returns
 * 0 or NB_NO_MEMORY. */
int nb_stage_undo(struct nb_group_item *item);

#endif
