/* SPDX-License-Identifier: Apache-2.0
 *
 * Walks over paths, folders and mailboxes, down to single files. One thread.
 */
#ifndef NB_SERVER_CLIENT_FILES_FILE_WALK_H
#define NB_SERVER_CLIENT_FILES_FILE_WALK_H

#include <stdint.h>

#include "server/client/files/files.h"

/* Reads the documents of all paths in their order, or of standard input without a path. The entries
 * of a folder are sorted by the bytes of their names. LABEL=PATH gives a label to the documents
 * below PATH, unless a file has that whole name. Returns 0, what `take` returned, NB_NO_MEMORY or
 * NB_CLIENT_USAGE. `error` must not be NULL. */
int nb_files_read(const struct nb_files *files, char *const *paths, size_t count,
                  struct nb_error *error);

/* Returns the total bytes of all files under the paths; 0 when unknown (standard input, an
 * index). */
uint64_t nb_files_bytes(const struct nb_files_options *options, char *const *paths, size_t count);

#endif
