/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes a file that gets its name only when it is complete. Main thread.
 */
#ifndef NB_CLIENT_WRITE_FILE_H
#define NB_CLIENT_WRITE_FILE_H

#include <stdio.h>

#include "core/base/error.h"

/* Writes the content to `out`. Returns 0 or a code. */
typedef int nb_write_content(void *user, FILE *out, struct nb_error *error);

/* Makes the file `name`, or replaces it: the content goes to NAME.part, which gets the name when it
 * is complete and on disk. After a failure NAME is as before, and NAME.part is removed. Returns 0,
 * what `content` returns, NB_DISK_FULL, NB_IO or NB_NO_MEMORY. */
int nb_write_file(const char *name, nb_write_content *content, void *user, struct nb_error *error);

#endif
