/* SPDX-License-Identifier: Apache-2.0
 *
 * An evaluation as JSON. Pure functions; any thread.
 * Writing appends to a buffer and returns 0 or NB_NO_MEMORY, in which case the buffer is as it was
 * before the call (emit.h).
 */
#ifndef NB_SERVER_JSON_EVALUATION_H
#define NB_SERVER_JSON_EVALUATION_H

#include "core/base/buffer.h"
#include "core/engine/engine.h"

/* {"model", "positive", "windows": [{"window", ...}, ...], "threshold"}: the last only when one was
 * asked for. A figure that is undefined is null. */
int nb_json_evaluation(struct nb_buffer *out, struct nb_string model,
                       const struct nb_evaluation_report *report);

#endif
