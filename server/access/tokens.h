/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of access tokens. Made once, and read-only afterwards, for any thread.
 */
#ifndef NB_SERVER_ACCESS_TOKENS_H
#define NB_SERVER_ACCESS_TOKENS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "server/access/role.h"

struct nb_config;

enum {
    NB_TOKEN_LEAST = 16, /* characters of a token */
    NB_TOKEN_HASH = 32,  /* bytes of its SHA-256 */
    NB_TOKEN_NAME = 65   /* with its NUL: a source has 64 bytes at most */
};

struct nb_token {
    unsigned char hash[NB_TOKEN_HASH];
    char name[NB_TOKEN_NAME]; /* "" when it has none */
    enum nb_role role;
};

struct nb_tokens {
    struct nb_token *all; /* owned */
    size_t count;
    bool has_plain; /* some came as themselves, not as hashes */
};

/* Reads the lists of [tokens]. Returns 0, NB_NO_MEMORY, or NB_INVALID, which names the option and
 * what is wrong with it, never a token; on failure nothing is owned. */
int nb_tokens_read(struct nb_tokens *tokens, const struct nb_config *config,
                   struct nb_error *error);
void nb_tokens_deinit(struct nb_tokens *tokens);

/* Appends the list of those of a role as [tokens] has it, every token as its hash:
 * "NAME=sha256:HEX, sha256:HEX". Returns 0 or NB_NO_MEMORY. */
int nb_tokens_list(const struct nb_tokens *tokens, enum nb_role role, struct nb_buffer *out);

/* The one that was shown, with the greatest role when it is there more than once; NULL when it is
 * not known. Takes the same time for every token. */
const struct nb_token *nb_tokens_find(const struct nb_tokens *tokens, struct nb_string shown);

#endif
