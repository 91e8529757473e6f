/* SPDX-License-Identifier: Apache-2.0
 *
 * Verdicts and tokens as JSON. Pure functions; any thread.
 * Writing appends to a buffer and returns 0 or NB_NO_MEMORY, in which case the buffer is as it was
 * before the call (emit.h).
 */
#ifndef NB_SERVER_JSON_VERDICT_H
#define NB_SERVER_JSON_VERDICT_H

#include "core/base/buffer.h"
#include "core/engine/engine.h"

/* What is to be done about the document, and why. */
struct nb_json_decision {
    const char *label; /* or "unsure" */
    const char *reason;
};

/* A verdict, with its explanation if it has one. `decision` may be NULL: none was asked for. */
int nb_json_verdict(struct nb_buffer *out, struct nb_string model, const struct nb_verdict *verdict,
                    const struct nb_json_decision *decision);

/* {"tokens": [...]}: the features of token fields, in order of first appearance. */
int nb_json_tokens(struct nb_buffer *out, const struct nb_bag *bag);

#endif
