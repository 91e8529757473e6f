/* SPDX-License-Identifier: Apache-2.0
 *
 * The JSON of a history, and of a label that a document gets. Any thread. Writing appends to a
 * buffer and returns 0 or NB_NO_MEMORY, in which case the buffer is as it was before the call
 * (emit.h).
 */
#ifndef NB_SERVER_HISTORY_CODEC_H
#define NB_SERVER_HISTORY_CODEC_H

#include "core/jobs/history/history.h"
#include "core/jobs/history/next.h"

/* {"history": [{"id", "time", "verdict", ...}, ...], "next"}: written piece by piece; `next` (0:
 * none) is where the next page begins. */
int nb_json_history_begin(struct nb_buffer *out);
int nb_json_history_row(struct nb_buffer *out, size_t count, const struct nb_history_row *row);
int nb_json_history_end(struct nb_buffer *out, uint64_t next);

/* A row whose last member is "now": the verdict's object follows, and then "}". */
int nb_json_history_open(struct nb_buffer *out, const struct nb_history_row *row);

/* {"next": [{"id", "verdict", ...}, ...], "looked_at": n}. */
int nb_json_next(struct nb_buffer *out, const struct nb_next *next);

/* Reads {"label": a label or null} into `label`, which the caller deinits; *has_label: it is not
 * null. Returns 0, NB_INVALID, NB_UNUSABLE, NB_TOO_LARGE or NB_NO_MEMORY. */
int nb_json_label_read(struct nb_string text, struct nb_buffer *label, bool *has_label,
                       struct nb_error *error);

#endif
