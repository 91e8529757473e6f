/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads and checks the lines of an import. A reader belongs to one thread at a time.
 *
 * Reading is strict: duplicate keys, invalid UTF-8, unknown members and anything after the value
 * are refused, with the line and column or the member's name. NB_INVALID means 400 (syntax, type,
 * unknown or missing member), NB_UNUSABLE means 422 (a value that cannot be used). Every function
 * that reads may also return NB_NO_MEMORY.
 */
#ifndef NB_SERVER_BASE_DUMP_JSON_H
#define NB_SERVER_BASE_DUMP_JSON_H

#include <stdint.h>

#include "core/archive/dump/dump.h"
#include "core/base/buffer.h"
#include "core/base/error.h"
#include "server/base/json_values.h"

struct nb_json_dump_reader;

enum nb_json_record_kind {
    NB_JSON_RECORD_BLANK, /* a line of white space: nothing to do */
    NB_JSON_RECORD_HEADER,
    NB_JSON_RECORD_WORDS,
    NB_JSON_RECORD_DOCUMENT,
    NB_JSON_RECORD_END
};

/* A record that was read; borrowed from the reader until its next call. */
struct nb_json_record {
    enum nb_json_record_kind kind;
    union {
        struct nb_dump_header header;
        struct nb_dump_words words;
        struct nb_dump_document document;
        struct nb_dump_totals end; /* counted over the records before; the line states the same */
    };
};

/* Reads a dump line by line and refuses a dump whose records are out of order, do not fit each
 * other or are incomplete. One thread at a time. */
int nb_json_dump_reader_new(struct nb_json_dump_reader **reader); /* 0 or NB_NO_MEMORY */
void nb_json_dump_reader_free(struct nb_json_dump_reader **reader);

/* Reads the next line, with or without its line feed. `number` is its number in the dump; blank
 * lines may be skipped. Returns 0, or NB_INVALID with "line N: ...", also for an unknown version of
 * the format. After a failure the reader can only be freed. */
int nb_json_dump_read(struct nb_json_dump_reader *reader, uint64_t number, struct nb_string line,
                      struct nb_json_record *record, struct nb_error *error);

/* Checks, after the last line, that the dump has its end line. Returns 0 or NB_INVALID. */
int nb_json_dump_finish(const struct nb_json_dump_reader *reader, struct nb_error *error);

/* Writes the lines of an export. Pure functions; any thread. Each function appends to a buffer and
 * returns 0 or NB_NO_MEMORY, in which case the buffer is as it was before the call (emit.h).
 */

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
