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
#include "server/access/token.h"

struct nb_config;

struct nb_tokens {
    struct nb_token *all; /* owned */
    size_t count, room;
    bool has_plain; /* some came as themselves, not as hashes */
};

/* Reads the lists of [tokens]; these tokens are for all models. Returns 0, NB_NO_MEMORY, or
 * NB_INVALID, which names the option and what is wrong with it, never a token; on failure nothing
 * is owned. */
int nb_tokens_read(struct nb_tokens *tokens, const struct nb_config *config,
                   struct nb_error *error);
void nb_tokens_deinit(struct nb_tokens *tokens);

/* Adds a copy of a token. Returns 0 or NB_NO_MEMORY. */
int nb_tokens_add(struct nb_tokens *tokens, const struct nb_token *token, struct nb_error *error);

/* Appends the list of those of a role as [tokens] has it, every token as its hash:
 * "NAME=sha256:HEX, sha256:HEX". Returns 0 or NB_NO_MEMORY. */
int nb_tokens_list(const struct nb_tokens *tokens, enum nb_role role, struct nb_buffer *out);

/* The one of this name; NULL when there is none. */
const struct nb_token *nb_tokens_named(const struct nb_tokens *tokens, struct nb_string name);

#endif
