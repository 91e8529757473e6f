/* SPDX-License-Identifier: Apache-2.0
 *
 * The file of tokens that `bayesd --new-token` writes. A line is a token:
 *
 *     NAME ROLE CREATED MODELS sha256:HEX
 *     gateway train 2026-01-31T12:00:00Z user-*,mail sha256:9f86d081884c7d65...
 *
 * Lines that begin with # and empty lines are comments. A file with a mistake is refused whole.
 * Main thread.
 */
#ifndef NB_SERVER_HTTP_TOKEN_FILE_H
#define NB_SERVER_HTTP_TOKEN_FILE_H

#include <stdbool.h>

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "server/http/tokens.h"

struct nb_config;

/* Limits of a file, because each request is compared with all tokens. */
enum { NB_TOKEN_FILE_MOST = 4096, NB_TOKEN_FILE_BYTES = 4 << 20, NB_TOKEN_FILE_PATH = 4096 + 8 };

/* The file's path: [tokens] file, or by default `tokens` in the data directory. */
void nb_token_file_path(const struct nb_config *config, char path[NB_TOKEN_FILE_PATH]);

/* Adds the tokens of a file's text. Returns 0, NB_NO_MEMORY, or NB_INVALID with "PATH:LINE: what is
 * wrong"; then some tokens were already added. `path` is used in messages only. */
int nb_token_file_parse(struct nb_string text, const char *path, struct nb_tokens *tokens,
                        struct nb_error *error);

/* Adds the tokens of a file. Returns 0, an error of nb_token_file_parse, or the code of
 * nb_error_errno when reading fails: NB_NOT_FOUND when there is no such file. */
int nb_token_file_read(const char *path, struct nb_tokens *tokens, struct nb_error *error);

/* Appends the text of a file with these tokens, all of which have names. Returns 0 or
 * NB_NO_MEMORY. */
int nb_token_file_print(const struct nb_tokens *tokens, struct nb_buffer *out);

/* Changes the tokens of a file. Returns 0, or a code; then nothing is written. */
typedef int nb_token_file_change(void *user, struct nb_tokens *tokens, struct nb_error *error);

/* Reads the file, if there is one, lets `change` change its tokens, and replaces the whole file
 * (mode 0600; the owner is that of the old file, or of its directory). The file is on disk when
 * this returns. A lock excludes other callers meanwhile. Returns 0 or a code; then the file is
 * unchanged. */
int nb_token_file_update(const char *path, nb_token_file_change *change, void *user,
                         struct nb_error *error);

#endif
