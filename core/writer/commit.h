/* SPDX-License-Identifier: Apache-2.0
 *
 * Group commit: many changes, one transaction, one fsync. On the writer's thread.
 *
 * Changes are staged one after the other, so that each finds the counts as the previous change left
 * them, no matter how changes are grouped. Readers may see a change some milliseconds before it is
 * durable; its receipt goes out only after the commit. If the commit fails, all changes are undone
 * exactly (the counts are integers, the weights keep an undo list), and each receipt says why.
 */
#ifndef NB_CORE_WRITER_COMMIT_H
#define NB_CORE_WRITER_COMMIT_H

#include "core/writer/staging.h"

/* Commits the group and fills in the receipts. If changes make much work for refits, only the first
 * of them is committed, and the others go back to their batches (nb_group_cut). */
void nb_group_commit(struct nb_group *group);

#endif
