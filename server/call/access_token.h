/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the access token of a client from a file, so that it does not appear on a command line.
 * Main thread.
 */
#ifndef NB_CALL_ACCESS_TOKEN_H
#define NB_CALL_ACCESS_TOKEN_H

#include "core/base/buffer.h"
#include "core/base/error.h"

/* Appends the token to `token`: the printable ASCII characters at the beginning of the first line
 * of the file, up to the first blank. Without a file (`file` is NULL) there is no token. Returns 0,
 * NB_NOT_FOUND (the file cannot be opened), NB_INVALID (its first line is not a token) or
 * NB_NO_MEMORY. */
int nb_access_token_read(const char *file, struct nb_buffer *token, struct nb_error *error);

#endif
