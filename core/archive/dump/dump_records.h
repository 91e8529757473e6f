/* SPDX-License-Identifier: Apache-2.0
 *
 * The records of a dump as bytes, to be sent between nodes. A sequence of records can be cut
 * anywhere. Pure functions; any thread.
 *
 * Written form (core/base/pack.h): each record is a string, so its length comes first. It begins
 * with a byte, enum nb_dump_record, and goes on with
 *
 *     header     settings (a string), key (NB_KEY_BYTES bytes), the number of labels and each of
 *                them (a string), has_texts (a byte), stack (a string), stack_key
 *     words      first_row, count, a byte that says whether there are texts; each id (8 bytes);
 *                each text (a string)
 *     document   id (a string), label, learned (8 bytes), source (a string), tokens, size; each row
 *                and its count; score (a string)
 *     end        documents, features, occurrences
 *
 * Numbers are varints unless noted otherwise.
 */
#ifndef NB_CORE_ARCHIVE_DUMP_DUMP_RECORDS_H
#define NB_CORE_ARCHIVE_DUMP_DUMP_RECORDS_H

#include "core/archive/dump/dump.h"
#include "core/base/buffer.h"

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
