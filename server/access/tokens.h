/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of access tokens. Filled by one thread, and read-only afterwards, for any thread.
 */
#ifndef NB_SERVER_ACCESS_TOKENS_H
#define NB_SERVER_ACCESS_TOKENS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "core/base/string.h"
#include "server/access/role.h"

struct nb_config;

/* An access token: its name, its rights and its hash; the token itself is stored nowhere. Pure
 * functions; any thread. */
enum {
    NB_TOKEN_LEAST = 16,   /* characters of a token */
    NB_TOKEN_HASH = 32,    /* bytes of its SHA-256 */
    NB_TOKEN_NAME = 65,    /* with its NUL: a source has 64 bytes at most */
    NB_TOKEN_MODELS = 256, /* with its NUL */
    NB_TOKEN_DATE = 32,    /* with its NUL */
    NB_TOKEN_HASH_TEXT = 7 + 2 * NB_TOKEN_HASH + 1, /* "sha256:", the digits, a NUL */
    NB_TOKEN_TEXT = 64                              /* of a new one, with its NUL */
};

struct nb_token {
    unsigned char hash[NB_TOKEN_HASH];
    char name[NB_TOKEN_NAME];     /* "" when it has none */
    char models[NB_TOKEN_MODELS]; /* patterns (allowed_models.h) */
    char created[NB_TOKEN_DATE];  /* "2026-01-31T12:00:00Z"; "" when it is not known */
    enum nb_role role;
    bool is_made; /* by nb_token_make: nobody can guess it */
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

#endif
