/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads one file of documents: finds out its format and calls the reader for that format. One
 * thread.
 */
#ifndef NB_CLIENT_READ_FILE_H
#define NB_CLIENT_READ_FILE_H

#include "server/client/files/files.h"

/* Reads the file, or standard input for "-". `label`, borrowed, is for documents without a label of
 * their own. `format` is a name of --format; NULL: found from the name and the beginning of the
 * file. A fault of the file is passed to files->skip. Returns 0 or a code that ends the whole run:
 * what `take` returned, NB_NO_MEMORY, NB_CLIENT_USAGE. `error` must not be NULL. */
int nb_read_file(const struct nb_files *files, const char *path, struct nb_string label,
                 const char *format, struct nb_error *error);

#endif
