/* SPDX-License-Identifier: Apache-2.0
 *
 * The receipts of train and untrain as JSON. Pure functions; any thread.
 * Writing appends to a buffer and returns 0 or NB_NO_MEMORY, in which case the buffer is as it was
 * before the call (emit.h).
 */
#ifndef NB_SERVER_JSON_RECEIPT_H
#define NB_SERVER_JSON_RECEIPT_H

#include <stdint.h>

#include "core/base/buffer.h"
#include "core/engine/engine.h"
#include "server/json/document.h"

/* The receipt of a train or untrain, as API's receipt object; a receipt with a code is written as
 * nb_json_error. (A single request answers such a receipt with the problem itself instead:
 * nb_json_problem_of(out, &receipt->error) and nb_json_status(receipt->code).) */
int nb_json_receipt(struct nb_buffer *out, struct nb_string model,
                    const struct nb_receipt *receipt);

/* The end of the reply to a batch, behind its results: "]", the totals by enum nb_status (learned,
 * unchanged, relabelled and updated of a train; forgotten of an untrain; none of other verbs),
 * "failed" and "}". */
int nb_json_results_end(struct nb_buffer *out, enum nb_verb verb,
                        const uint64_t totals[NB_STATUSES], uint64_t failed);

/* "learned" ... */
const char *nb_json_status_name(enum nb_status status);

#endif
