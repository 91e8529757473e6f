/* SPDX-License-Identifier: Apache-2.0
 *
 * The flag --source of commands that change a model: a name that the daemon records with each
 * change and shows with each document. Pure functions; any thread.
 */
#ifndef NB_CLIENT_SOURCE_FLAG_H
#define NB_CLIENT_SOURCE_FLAG_H

#include "core/base/error.h"
#include "server/client/base/flags.h"

enum { NB_SOURCE_MOST = 64 /* bytes */ };

/* clang-format off */
/* The row of a command's table of flags; the options have a member `const char *source`. */
#define NB_SOURCE_FLAG(type)                                                                       \
    {"source", 0, NB_FLAG_TEXT, "NAME", offsetof(type, source), 0, 0,                              \
     "name recorded as the source of the change, at most 64 bytes (default:\n"                      \
     "the name of the token, or http)"}
/* clang-format on */

/* Returns 0 when `source` is NULL or a name that the daemon takes: 1 to 64 bytes of UTF-8 without
 * control characters. Otherwise NB_CLIENT_USAGE. */
int nb_source_check(const char *source, struct nb_error *error);

#endif
