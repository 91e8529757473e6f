/* SPDX-License-Identifier: Apache-2.0
 *
 * Changes whose content is in the store: in the quarantine, or in the history.
 */
#ifndef NB_CORE_WRITER_SUBMIT_RECALL_H
#define NB_CORE_WRITER_SUBMIT_RECALL_H

#include "core/writer/submit/submit.h"

/* Adds a change that trains the document `id` with the content that the model's history has of it.
 * `label` as for nb_batch_train. NB_NOT_FOUND: the history has none, or the document is learned or
 * stored already. Other errors: as nb_batch_untrain. */
int nb_batch_recall(struct nb_batch *batch, struct nb_string id, struct nb_string label,
                    struct nb_string source, struct nb_error *error);

#endif
