/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the label that a request names in a model, and reports an error if there is none. Any
 * thread.
 */
#ifndef NB_CORE_MODEL_LIVE_LABEL_THERE_H
#define NB_CORE_MODEL_LIVE_LABEL_THERE_H

#include "core/model/live/live.h"

/* Sets *number to that of the label. The caller holds the lock of the counts, at least for reading.
 * Returns 0, or NB_NOT_FOUND; the message tells if the name is that of a level of labels. */
int nb_live_label(const struct nb_live *live, struct nb_string name, uint32_t *number,
                  struct nb_error *error);

#endif
