/* SPDX-License-Identifier: Apache-2.0
 *
 * The records of a dump, which is a whole model with its documents, and their written form. Pure
 * functions; any thread.
 */
#ifndef NB_CORE_ARCHIVE_DUMP_DUMP_H
#define NB_CORE_ARCHIVE_DUMP_DUMP_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/buffer.h"
#include "core/base/key.h"
#include "core/bayes/settings.h"

/* A dump as a sequence of records; the server writes them as NDJSON. Order: header, words (runs in
 * row order), documents (oldest first), totals. Row and label numbers are those of the dump, not of
 * the model. A callback returns 0 to continue; any other code ends the dump and is returned. */
struct nb_dump_header {
    struct nb_settings settings; /* borrowed */
    unsigned char key[NB_KEY_BYTES];
    size_t label_count;
    const char *const *labels; /* by label number */
    bool has_texts;            /* every feature comes with its text */
    struct nb_string stack;    /* weights of the stack, stored form; length 0: none */
};
struct nb_dump_words {
    uint32_t first_row;
    size_t count;
    const uint64_t *ids;
    const struct nb_string *texts; /* NULL when words are not kept */
};
enum { NB_DUMP_NO_LABEL = UINT16_MAX }; /* label of a document without one */
struct nb_dump_document {
    struct nb_string id;
    uint32_t label; /* number of the label, or NB_DUMP_NO_LABEL */
    int64_t learned;
    struct nb_string source;
    uint64_t tokens;
    const uint32_t *rows; /* ascending */
    const uint32_t *counts;
    size_t size;
    struct nb_string score; /* score before it was learned, stored form; length 0: none */
    bool is_reviewed;       /* nb_change.is_reviewed */
};
/* Totals at the end of a dump. A reader compares them with what it has read, to detect a truncated
 * or damaged dump. */
struct nb_dump_totals {
    uint64_t documents;
    uint64_t features;    /* rows */
    uint64_t occurrences; /* sum of all documents' counts */
};
struct nb_dump_sink {
    int (*header)(void *user, const struct nb_dump_header *header);
    int (*words)(void *user, const struct nb_dump_words *words);
    int (*document)(void *user, const struct nb_dump_document *document);
    int (*end)(void *user, const struct nb_dump_totals *totals);
    void *user;
};

/* The records as bytes, to be sent between nodes. A sequence of records can be cut anywhere.
 *
 * Written form (core/base/buffer.h): each record is a string, so its length comes first. It begins
 * with a byte, enum nb_dump_record, and goes on with
 *
 *     header     settings (a string), key (NB_KEY_BYTES bytes), the number of labels and each of
 *                them (a string), has_texts (a byte), stack (a string)
 *     words      first_row, count, a byte that says whether there are texts; each id (8 bytes);
 *                each text (a string)
 *     document   id (a string), label, learned (8 bytes), source (a string), tokens, size; each row
 *                and its count; score (a string), is_reviewed (a byte)
 *     end        documents, features, occurrences
 *
 * Numbers are varints unless noted otherwise. */
enum nb_dump_record { NB_DUMP_HEADER = 1, NB_DUMP_WORDS, NB_DUMP_DOCUMENT, NB_DUMP_END };

/* Each appends a record. Returns 0 or NB_NO_MEMORY. */
int nb_dump_write_header(const struct nb_dump_header *header, struct nb_buffer *out);
int nb_dump_write_words(const struct nb_dump_words *words, struct nb_buffer *out);
int nb_dump_write_document(const struct nb_dump_document *document, struct nb_buffer *out);
int nb_dump_write_end(const struct nb_dump_totals *totals, struct nb_buffer *out);

/* Reads records from bytes that come piece by piece. */
struct nb_dump_reading {
    struct nb_buffer rest; /* owned: an incomplete record */
};
/* Calls `sink` for each record that the bytes complete. Returns 0, what the sink returns,
 * NB_NO_MEMORY, or NB_INVALID: the bytes are no records. */
int nb_dump_read(struct nb_dump_reading *reading, struct nb_string bytes,
                 const struct nb_dump_sink *sink, struct nb_error *error);
void nb_dump_reading_deinit(struct nb_dump_reading *reading);

#endif
