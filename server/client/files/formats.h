/* SPDX-License-Identifier: Apache-2.0
 *
 * The readers of the formats that a file of documents may have, one file each. Each reads the whole
 * input of the reading and passes its documents on. One thread.
 *
 * They return 0; what nb_file_reading_give returned; NB_IO or NB_NO_MEMORY; NB_INVALID when the
 * file is not of the format; NB_TOO_LARGE when a document is too large; NB_CLIENT_USAGE for a wrong
 * option. The documents before the fault have been passed on.
 */
#ifndef NB_CLIENT_FORMATS_H
#define NB_CLIENT_FORMATS_H

#include "server/client/files/reading.h"

/* Reads the whole file as one document, a mail or a text. */
int nb_read_whole(struct nb_file_reading *reading, struct nb_error *error);

/* Reads mails, each of which follows a line that begins with "From ". */
int nb_read_mbox(struct nb_file_reading *reading, struct nb_error *error);

/* Reads rows of cells: CSV, or TSV, in which nothing is quoted (file_rows.h). */
int nb_read_table(struct nb_file_reading *reading, bool is_csv, struct nb_error *error);

/* Reads each line that is not blank as a text. */
int nb_read_lines(struct nb_file_reading *reading, struct nb_error *error);

/* Reads each line as a JSON object, in the form in which the daemon takes documents. */
int nb_read_ndjson(struct nb_file_reading *reading, struct nb_error *error);

/* Reads the files of a list with one file a line: LABEL FILE [train|test]. Relative paths begin at
 * the folder of the list, as in the corpora of TREC. */
int nb_read_index(struct nb_file_reading *reading, struct nb_error *error);

/* Returns `mail` without the line "From ..." that some tools leave at the head of a mail from an
 * mbox. */
struct nb_string nb_read_without_separator(struct nb_string mail);

#endif
