/* SPDX-License-Identifier: Apache-2.0 */
#include "server/access/tokens.h"

#include <assert.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "server/access/list.h"

static_assert(NB_TOKEN_HASH == crypto_hash_sha256_BYTES, "a hash of SHA-256");

static const char HASHED[] = "sha256:";

static int read_token(struct nb_string text, struct nb_token *token)
{
    size_t prefix = sizeof HASHED - 1, length = 0;
    const char *end;
    if (!nb_string_starts(text, HASHED)) {
        (void)crypto_hash_sha256(token->hash, (const unsigned char *)text.bytes, text.length);
        return text.length >= NB_TOKEN_LEAST ? 0 : NB_INVALID;
    }
    int rc = sodium_hex2bin(token->hash, sizeof token->hash, text.bytes + prefix,
                            text.length - prefix, NULL, &length, &end);
    return rc == 0 && length == NB_TOKEN_HASH && end == text.bytes + text.length ? 0 : NB_INVALID;
}

/* Takes the name off "NAME=TOKEN". What is behind a "=" at a token's own end is too short for a
 * token: such an item has no name. */
static void take_name(struct nb_string *item, struct nb_token *token)
{
    static const char NAME[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-@";
    const char *equals = memchr(item->bytes, '=', item->length);
    size_t length = equals != NULL ? (size_t)(equals - item->bytes) : 0;
    if (length == 0 || length >= sizeof token->name || item->length - length - 1 < NB_TOKEN_LEAST ||
        strspn(item->bytes, NAME) != length)
        return;
    memcpy(token->name, item->bytes, length);
    *item = nb_string_from(*item, length + 1);
}

static int read_list(struct nb_tokens *tokens, const char *list, const char *key, enum nb_role role,
                     struct nb_error *error)
{
    struct nb_string item;
    for (size_t i = 1; nb_list_next(&list, &item); i++) {
        struct nb_token *token = &tokens->all[tokens->count++];
        token->role = role;
        take_name(&item, token);
        tokens->has_plain |= !nb_string_starts(item, HASHED);
        if (read_token(item, token) != 0)
            return nb_error_set(error, NB_INVALID,
                                "[tokens] %s: token %zu must have at least %d characters, or be "
                                "sha256: and the 64 hexadecimal digits of its SHA-256",
                                key, i, NB_TOKEN_LEAST);
    }
    return 0;
}

int nb_tokens_read(struct nb_tokens *tokens, const struct nb_config *config, struct nb_error *error)
{
    const struct {
        const char *key, *list;
        enum nb_role role;
    } roles[] = {{"classify", config->tokens_classify, NB_ROLE_CLASSIFY},
                 {"train", config->tokens_train, NB_ROLE_TRAIN},
                 {"admin", config->tokens_admin, NB_ROLE_ADMIN}};
    size_t count = 0;
    for (size_t i = 0; i < sizeof roles / sizeof roles[0]; i++)
        count += nb_list_count(roles[i].list);
    *tokens = (struct nb_tokens){.all = calloc(count + 1, sizeof *tokens->all)};
    int rc = tokens->all != NULL ? 0 : nb_error_no_memory(error);
    for (size_t i = 0; i < sizeof roles / sizeof roles[0] && rc == 0; i++)
        rc = read_list(tokens, roles[i].list, roles[i].key, roles[i].role, error);
    if (rc != 0)
        nb_tokens_deinit(tokens);
    return rc;
}

void nb_tokens_deinit(struct nb_tokens *tokens)
{
    free(tokens->all);
    *tokens = (struct nb_tokens){.all = NULL};
}

int nb_tokens_list(const struct nb_tokens *tokens, enum nb_role role, struct nb_buffer *out)
{
    char hex[NB_TOKEN_HASH * 2 + 1];
    const char *between = "";
    int rc = 0;
    for (size_t i = 0; i < tokens->count && rc == 0; i++) {
        const struct nb_token *token = &tokens->all[i];
        if (token->role != role)
            continue;
        (void)sodium_bin2hex(hex, sizeof hex, token->hash, sizeof token->hash); /* it fits */
        rc = nb_buffer_printf(out, "%s%s%s%s%s", between, token->name,
                              token->name[0] != '\0' ? "=" : "", HASHED, hex);
        between = ", ";
    }
    return rc;
}

const struct nb_token *nb_tokens_find(const struct nb_tokens *tokens, struct nb_string shown)
{
    unsigned char hash[NB_TOKEN_HASH];
    const struct nb_token *found = NULL;
    (void)crypto_hash_sha256(hash, (const unsigned char *)shown.bytes, shown.length);
    /* All tokens are compared, each in constant time: the duration tells nothing. */
    for (size_t i = 0; i < tokens->count; i++) {
        const struct nb_token *one = &tokens->all[i];
        bool is_same = sodium_memcmp(one->hash, hash, sizeof hash) == 0;
        if (is_same && (found == NULL || one->role > found->role))
            found = one;
    }
    return shown.length > 0 ? found : NULL;
}
