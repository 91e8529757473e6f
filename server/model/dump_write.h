/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes the lines of an export. Pure functions; any thread. Each function appends to a buffer and
 * returns 0 or NB_NO_MEMORY, in which case the buffer is as it was before the call (emit.h).
 */
#ifndef NB_SERVER_MODEL_DUMP_WRITE_H
#define NB_SERVER_MODEL_DUMP_WRITE_H

#include <stdint.h>

#include "core/archive/dump/dump.h"
#include "core/base/buffer.h"

/* The lines of a dump, each with its line feed; any number of words and of documents:
 * {"bayesd_dump": 1, "tokenizer_version": 2, "settings": {...}, "key": base64, "labels": [...]}
 * {"words": {"first_row": n, "ids": [16 hexadecimal digits, ...], "texts": [...] or null}}
 * {"document": {"id", "label": number, "learned": ms, "tokens", "rows": [...], "counts": [...]}}
 * {"end": {"documents": n, "words": n}}
 * The end line shows that the dump is complete. */
enum { NB_DUMP_VERSION = 1, NB_DUMP_ID_LENGTH = 16 /* hexadecimal digits of a feature's id */ };

int nb_json_dump_header(struct nb_buffer *out, const struct nb_dump_header *header);
/* Splits a long run into several lines, so that each fits the limit of NDJSON lines. */
int nb_json_dump_words(struct nb_buffer *out, const struct nb_dump_words *words);
int nb_json_dump_document(struct nb_buffer *out, const struct nb_dump_document *document);
int nb_json_dump_end(struct nb_buffer *out, const struct nb_dump_totals *totals);

#endif
