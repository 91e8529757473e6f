/* SPDX-License-Identifier: Apache-2.0
 *
 * The readers of the formats that a file of documents may have, one file each. Each reads all of
 * the reading's input and gives its documents on. One thread.
 *
 * They return 0; what nb_file_reading_give returned; NB_IO or NB_NO_MEMORY; NB_INVALID,
 * NB_TOO_LARGE when the file is not of the format or a document is too large; NB_CLIENT_USAGE for a
 * wrong option. The documents before the fault were given on.
 */
#ifndef NB_CLIENT_FORMATS_H
#define NB_CLIENT_FORMATS_H

#include "server/client/files/reading.h"

/* The whole file is one document, a mail or a text. */
int nb_read_whole(struct nb_file_reading *reading, struct nb_error *error);

/* Mails, each behind a line that begins with "From ". */
int nb_read_mbox(struct nb_file_reading *reading, struct nb_error *error);

/* Rows of cells: CSV, or TSV, in which nothing is quoted (file_rows.h). */
int nb_read_table(struct nb_file_reading *reading, bool is_csv, struct nb_error *error);

/* A text in each line that is not blank. */
int nb_read_lines(struct nb_file_reading *reading, struct nb_error *error);

/* A JSON object in each line, as the daemon takes documents. */
int nb_read_ndjson(struct nb_file_reading *reading, struct nb_error *error);

/* A list of files, one a line: LABEL FILE [train|test]. Relative paths begin at the folder of the
 * list, as in the corpora of TREC. */
int nb_read_index(struct nb_file_reading *reading, struct nb_error *error);

/* `mail` without the line "From ..." that some tools leave at the head of a mail out of an mbox. */
struct nb_string nb_read_without_separator(struct nb_string mail);

#endif
