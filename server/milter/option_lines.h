/* SPDX-License-Identifier: Apache-2.0
 *
 * A file of options: lines "name = value", "name" for a switch, comments that begin with '#'. Main
 * thread.
 */
#ifndef NB_MILTER_OPTION_LINES_H
#define NB_MILTER_OPTION_LINES_H

#include "core/base/buffer.h"
#include "core/base/error.h"

enum { NB_OPTION_LINES_MOST = 64 * 1024 /* bytes of a file */ };

/* Takes an option; `value` is NULL in a line without '='. Both live as long as the text of the
 * file. Returns 0 or NB_INVALID. */
typedef int nb_option_taker(void *user, const char *name, char *value, struct nb_error *error);

/* Reads the file into `text`, which is empty before and which the caller frees in any case, and
 * passes its options to `take`, in their order. Returns 0; NB_INVALID with "FILE:LINE: " before the
 * message of `take`; NB_NOT_FOUND, NB_TOO_LARGE, NB_IO or NB_NO_MEMORY. */
int nb_option_lines_read(const char *path, struct nb_buffer *text, nb_option_taker *take,
                         void *user, struct nb_error *error);

#endif
