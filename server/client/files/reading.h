/* SPDX-License-Identifier: Apache-2.0
 *
 * One file that is being read, and the functions that hand its documents on. Shared by the readers
 * of all formats. One thread.
 */
#ifndef NB_CLIENT_READING_H
#define NB_CLIENT_READING_H

#include "server/client/files/files.h"
#include "server/client/files/input.h"

struct nb_file_reading {
    const struct nb_files *files;
    const char *name;       /* of the file, for people */
    struct nb_string label; /* of documents that bring none */
    enum nb_item_part part;
    struct nb_input input;
    bool is_stream;         /* standard input, or a pipe */
    bool is_over;           /* `take` has returned a code: it wants no more documents */
    struct nb_buffer title; /* owned: the name and the place of the last document */
    struct nb_buffer given_label, own_label; /* owned: labels in their form, where it differs */
};

/* Opens a file; "-" is standard input. Returns 0 or the code of the failure. nb_file_reading_close
 * is needed in both cases. */
int nb_file_reading_open(struct nb_file_reading *reading, const struct nb_files *files,
                         const char *path, struct nb_error *error);
void nb_file_reading_close(struct nb_file_reading *reading);

/* Sets the label of documents that bring none, in the form of labels (core/base/label/label.h).
 * Returns 0 or NB_NO_MEMORY. */
int nb_file_reading_set_label(struct nb_file_reading *reading, struct nb_string label,
                              struct nb_error *error);

/* Gives a document to `take` of the files, with the name, label and part of the reading where the
 * item has none. `number` is the place of the document in the file, from 1; 0: it is the whole
 * file. Returns what `take` returned, or NB_NO_MEMORY. */
int nb_file_reading_give(struct nb_file_reading *reading, struct nb_item *item, uint64_t number,
                         struct nb_error *error);

/* Makes the input one of text in UTF-8 (nb_input_decode) with the charset of the options, and says
 * so where the charset is a guess. Returns 0 or its codes. */
int nb_file_reading_decode(struct nb_file_reading *reading, bool is_quoted, struct nb_error *error);

/* Says that a text was read in a charset that nothing names, if it was. */
void nb_file_reading_tell_charset(const struct nb_file_reading *reading,
                                  const struct nb_text_charset *charset);

/* Gives the fault of one document, whose text names its line, to `refuse` of the files; the reading
 * goes on behind it. Returns 0, or the code if it concerns all that follows. */
int nb_file_reading_refuse(const struct nb_file_reading *reading, int rc,
                           const struct nb_error *error);

/* What a reader's result means for the files after this one: a fault of this file alone is given to
 * `skip`, and 0 is returned; a code that ends everything is returned. */
int nb_file_reading_result(const struct nb_file_reading *reading, int rc,
                           const struct nb_error *error);

#endif
