/* SPDX-License-Identifier: Apache-2.0
 *
 * The records of an import after its first line: runs of words, and documents. One thread at a
 * time.
 */
#ifndef NB_SERVER_MODEL_DUMP_RECORD_JSON_H
#define NB_SERVER_MODEL_DUMP_RECORD_JSON_H

#include "core/archive/dump/dump.h"
#include "server/json/json_load.h"

/* What was read so far, and the arrays of the last record. */
struct nb_dump_records {
    uint64_t rows, documents, occurrences;
    size_t label_count;
    void *numbers;           /* owned */
    struct nb_string *texts; /* owned */
    struct nb_buffer score;  /* owned: decoded */
};

/* Frees the arrays of the last record. */
void nb_dump_records_forget(struct nb_dump_records *records);

/* Take the one member of a record's line. What they give is borrowed from `records` and from the
 * value. Return 0, NB_INVALID with what is wrong, or another code. */
int nb_dump_records_words(struct nb_dump_records *records, const json_t *value,
                          struct nb_dump_words *words, struct nb_error *error);
int nb_dump_records_document(struct nb_dump_records *records, const json_t *value,
                             struct nb_dump_document *document, struct nb_error *error);

/* Decodes a stored form in base64, which only the engine reads; NULL gives nothing. `name` is the
 * member's. Returns 0, NB_INVALID or NB_NO_MEMORY. */
int nb_dump_records_opaque(const json_t *value, const char *name, struct nb_buffer *out,
                           struct nb_error *error);

#endif
