/* SPDX-License-Identifier: Apache-2.0
 *
 * The reading of one file, shared by source*.c. One thread.
 */
#ifndef NB_CLIENT_SOURCE_PRIVATE_H
#define NB_CLIENT_SOURCE_PRIVATE_H

#include "server/client/source.h"

/* Bytes of a file, read as they are needed. */
struct nb_input {
    int file;
    struct nb_buffer bytes; /* owned; [at, length) is not used yet */
    size_t at;
    bool has_ended;
};

/* A file that is being read, and what holds for its documents. */
struct nb_reading {
    const struct nb_source *source;
    const char *name; /* of the file */
    struct nb_string label;
    enum nb_part part;
    struct nb_input input;
    bool is_over;           /* what takes the documents wants no more */
    struct nb_buffer title; /* of the document: the name and the place in the file */
};

/* Reads at least one byte more, up to `most` unused ones in all. Returns 1, 0 at the end of the
 * file or when `most` are there, or a code. */
int nb_input_fill(struct nb_input *input, size_t most, struct nb_error *error);

/* The next line without its line end, valid until the next call. 1, 0 at the end, or a code:
 * NB_TOO_LARGE for a line above NB_ITEM_MOST. */
int nb_input_line(struct nb_input *input, struct nb_string *line, struct nb_error *error);

/* Gives a document on; `number` is its place in the file, 0: it is the whole file. An empty label
 * is replaced by the reading's. */
int nb_reading_give(struct nb_reading *reading, struct nb_item *item, uint64_t number,
                    struct nb_error *error);

/* The formats. 0 or a code. */
int nb_reading_table(struct nb_reading *reading, char separator, struct nb_error *error);
int nb_reading_ndjson(struct nb_reading *reading, struct nb_error *error);

/* Opens a file and reads it as `format` says (NULL: found out). What is wrong with the file is
 * given to `skip`; a code is only returned when the reading is to end. `error` may not be NULL. */
int nb_source_file(const struct nb_source *source, const char *path, struct nb_string label,
                   enum nb_part part, const char *format, struct nb_error *error);

#endif
