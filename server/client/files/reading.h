/* SPDX-License-Identifier: Apache-2.0
 *
 * One file that is being read, and the functions that hand its documents on. Shared by the readers
 * of all formats. One thread.
 */
#ifndef NB_CLIENT_READING_H
#define NB_CLIENT_READING_H

#include "server/client/files/files.h"
#include "server/client/files/input.h"

struct nb_reading {
    const struct nb_files *files;
    const char *name;       /* of the file, for people */
    struct nb_string label; /* of documents that bring none */
    enum nb_item_part part;
    struct nb_input input;
    bool is_stream;         /* standard input, or a pipe */
    bool is_over;           /* `take` has returned a code: it wants no more documents */
    struct nb_buffer title; /* owned: the name and the place of the last document */
};

/* Opens a file; "-" is standard input. Returns 0 or the code of the failure. nb_reading_close is
 * needed in both cases. */
int nb_reading_open(struct nb_reading *reading, const struct nb_files *files, const char *path,
                    struct nb_error *error);
void nb_reading_close(struct nb_reading *reading);

/* Gives a document to `take` of the files, with the name, label and part of the reading where the
 * item has none. `number` is the place of the document in the file, from 1; 0: it is the whole
 * file. Returns what `take` returned, or NB_NO_MEMORY. */
int nb_reading_give(struct nb_reading *reading, struct nb_item *item, uint64_t number,
                    struct nb_error *error);

/* What a reader's result means for the files after this one: a fault of this file alone is given to
 * `skip`, and 0 is returned; a code that ends everything is returned. */
int nb_reading_result(const struct nb_reading *reading, int rc, const struct nb_error *error);

#endif
