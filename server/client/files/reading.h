/* SPDX-License-Identifier: Apache-2.0
 *
 * One file that is being read, and the functions that pass its documents on. Shared by the readers
 * of all formats. One thread.
 */
#ifndef NB_SERVER_CLIENT_FILES_READING_H
#define NB_SERVER_CLIENT_FILES_READING_H

#include "server/client/files/files.h"
#include "server/client/files/input.h"

struct nb_file_reading {
    const struct nb_files *files;
    const char *name;       /* name of the file, for messages */
    struct nb_string label; /* for documents without a label of their own */
    enum nb_item_part part;
    struct nb_input input;
    bool is_stream;         /* standard input, or a pipe */
    bool is_over;           /* `take` has returned a code: it wants no more documents */
    struct nb_buffer title; /* owned: the name and the place of the last document */
    struct nb_buffer given_label, own_label; /* owned: the labels in normal form, if that differs */
    struct nb_buffer row_id;                 /* owned: the id that a row was given */
    uint64_t rows_before; /* of the files before this one, if a source names the rows of all */
    char hash[33];        /* of the file, if rows are named by it */
};

/* Opens a file; "-" is standard input. Returns 0 or the code of the failure. nb_file_reading_close
 * is needed in both cases. */
int nb_file_reading_open(struct nb_file_reading *reading, const struct nb_files *files,
                         const char *path, struct nb_error *error);
void nb_file_reading_close(struct nb_file_reading *reading);

/* Sets the label for documents without their own, in the normal form of labels
 * (core/base/label.h). Returns 0 or NB_NO_MEMORY. */
int nb_file_reading_set_label(struct nb_file_reading *reading, struct nb_string label,
                              struct nb_error *error);

/* Passes a document to files->take. Name, label and part come from the reading if the item has
 * none. `number` is the place of the document in the file, from 1; 0: it is the whole file. Returns
 * what `take` returned, or NB_NO_MEMORY. */
int nb_file_reading_give(struct nb_file_reading *reading, struct nb_item *item, uint64_t number,
                         struct nb_error *error);

/* Prepares for naming rows, if the options ask for it: hashes the file. A pipe is first copied into
 * a temporary file, unless the options name a source. Call before any byte is used. Returns 0,
 * NB_IO, NB_DISK_FULL or NB_NO_MEMORY. */
int nb_file_reading_hash(struct nb_file_reading *reading, struct nb_error *error);

/* Gives a row of a table an id, if it has none and the options ask for it; a mail keeps the id that
 * the daemon makes for it. `row` counts from 1. The id is valid until the next row. Returns 0 or
 * NB_NO_MEMORY. */
int nb_file_reading_name_row(struct nb_file_reading *reading, uint64_t row, struct nb_item *item,
                             struct nb_error *error);

/* Gives a row the id "FILE:ROW". The id is valid until the next row. Returns 0 or NB_NO_MEMORY. */
int nb_file_reading_number_row(struct nb_file_reading *reading, uint64_t row, struct nb_item *item,
                               struct nb_error *error);

/* Decodes the input into UTF-8 text (nb_input_decode) with the charset of the options, and reports
 * a charset that was guessed. Returns 0 or a code of nb_input_decode. */
int nb_file_reading_decode(struct nb_file_reading *reading, bool is_quoted, struct nb_error *error);

/* Reports the charset in which a text was read, if it was guessed. */
void nb_file_reading_tell_charset(const struct nb_file_reading *reading,
                                  const struct nb_text_charset *charset);

/* Decides what a fault means, and tells it: of one document, whose text names its line
 * (NB_FILE_REFUSED), or of this file (NB_FILE_UNREAD). Returns 0 to go on with the next document or
 * file, or the code if the fault affects all of them. */
int nb_file_reading_fault(const struct nb_file_reading *reading, enum nb_file_news news, int rc,
                          const struct nb_error *error);

/* The readers of the formats that a file of documents may have, one file each. Each reads the whole
 * input of the reading and passes its documents on. One thread.
 *
 * They return 0; what nb_file_reading_give returned; NB_IO or NB_NO_MEMORY; NB_INVALID when the
 * file is not of the format; NB_TOO_LARGE when a document is too large; NB_CLIENT_USAGE for a wrong
 * option. The documents before the fault have been passed on. */

/* Reads rows of cells: CSV, or TSV, in which nothing is quoted (file_rows.h). */
int nb_read_table(struct nb_file_reading *reading, bool is_csv, struct nb_error *error);

/* Reads each line as a JSON object, in the form in which the daemon takes documents. */
int nb_read_ndjson(struct nb_file_reading *reading, struct nb_error *error);

#endif
