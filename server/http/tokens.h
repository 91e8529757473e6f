/* SPDX-License-Identifier: Apache-2.0
 *
 * Access tokens: their roles, the models that they cover, and the table of them. The table is
 * filled by one thread, and read-only afterwards, for any thread; the other functions are pure.
 */
#ifndef NB_SERVER_HTTP_TOKENS_H
#define NB_SERVER_HTTP_TOKENS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "core/base/string.h"

struct nb_config;

/* The role of a client, and the role that a route requires once access tokens are configured. Each
 * role includes those before it. */
enum nb_role { NB_ROLE_NONE, NB_ROLE_CLASSIFY, NB_ROLE_TRAIN, NB_ROLE_ADMIN };

/* The patterns of the models that a token covers: "user-*,mail". In a pattern * stands for any
 * bytes, also none, and ? for one byte; patterns are separated by commas, and one of them must
 * match. */

/* Whether a text is a list of patterns: of the bytes of model names (API: 1 to 128 letters, digits
 * and "._@+-"), with * and ?. */
bool nb_models_are_patterns(struct nb_string text);

/* Whether the patterns cover every possible model: one of them is "*". */
bool nb_models_are_all(const char *patterns);

/* Whether one of the patterns matches the name. Takes time at most proportional to the product of
 * the lengths. */
bool nb_models_match(const char *patterns, struct nb_string name);

/* Like nb_models_match, as an error code: 0 or NB_FORBIDDEN. */
int nb_models_check(const char *patterns, struct nb_string name, struct nb_error *error);

enum {
    NB_TOKEN_LEAST = 16,   /* characters of a token */
    NB_TOKEN_HASH = 32,    /* bytes of its SHA-256 */
    NB_TOKEN_NAME = 65,    /* with its NUL: a source has 64 bytes at most */
    NB_TOKEN_MODELS = 256, /* with its NUL */
    NB_TOKEN_DATE = 32,    /* with its NUL */
    NB_TOKEN_HASH_TEXT = 7 + 2 * NB_TOKEN_HASH + 1, /* "sha256:", the digits, a NUL */
    NB_TOKEN_TEXT = 64                              /* bytes of a new token with its NUL */
};

/* An access token: its name, its rights and its hash; the token itself is stored nowhere. */
struct nb_token {
    unsigned char hash[NB_TOKEN_HASH];
    char name[NB_TOKEN_NAME];     /* "" when it has none */
    char models[NB_TOKEN_MODELS]; /* patterns, see above */
    char created[NB_TOKEN_DATE];  /* "2026-01-31T12:00:00Z"; "" when it is not known */
    enum nb_role role;
    bool is_made; /* nb_token_make made it, so nobody can guess it */
};

/* Whether a text is a valid name of a token: 1 to 64 letters, digits and "._-@". */
bool nb_token_is_name(struct nb_string text);

/* Sets the hash from "sha256:" and 64 hexadecimal digits, or from the token itself. Returns false
 * if the text is neither, or too short for a token. */
bool nb_token_read_hash(struct nb_string text, struct nb_token *token);

/* Whether a text is the hash of a token rather than a token. */
bool nb_token_is_hash(struct nb_string text);

/* Writes the hash as "sha256:" and hexadecimal digits. */
void nb_token_print_hash(const struct nb_token *token, char text[NB_TOKEN_HASH_TEXT]);

/* Makes a token that nobody can guess, 256 random bits, and sets the hash. */
void nb_token_make(struct nb_token *token, char text[NB_TOKEN_TEXT]);

/* Returns "classify", "train" or "admin"; the reverse function returns NB_ROLE_NONE for other
 * texts. */
const char *nb_role_name(enum nb_role role);
enum nb_role nb_role_read(struct nb_string text);

struct nb_tokens {
    struct nb_token *all; /* owned */
    size_t count, room;
    bool has_plain; /* some were given in plain, not as hashes */
};

/* Reads the lists of [tokens]; these tokens cover all models. Returns 0, NB_NO_MEMORY, or
 * NB_INVALID, which names the option and the fault but never a token; on failure nothing is
 * owned. */
int nb_tokens_read(struct nb_tokens *tokens, const struct nb_config *config,
                   struct nb_error *error);
void nb_tokens_deinit(struct nb_tokens *tokens);

/* Adds a copy of a token. Returns 0 or NB_NO_MEMORY. */
int nb_tokens_add(struct nb_tokens *tokens, const struct nb_token *token, struct nb_error *error);

/* Appends the tokens of a role as a list for [tokens], with each token as its hash:
 * "NAME=sha256:HEX, sha256:HEX". Returns 0 or NB_NO_MEMORY. */
int nb_tokens_list(const struct nb_tokens *tokens, enum nb_role role, struct nb_buffer *out);

/* Returns the token with this name; NULL when there is none. */
const struct nb_token *nb_tokens_named(const struct nb_tokens *tokens, struct nb_string name);

/* ---- the file -------------------------------------------------------------------------------- */

/* The file of tokens that `bayesd --new-token` writes. A line is a token:
 *
 *     NAME ROLE CREATED MODELS sha256:HEX
 *     gateway train 2026-01-31T12:00:00Z user-*,mail sha256:9f86d081884c7d65...
 *
 * Lines that begin with # and empty lines are comments. A file with a mistake is refused whole.
 * Main thread. */

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
