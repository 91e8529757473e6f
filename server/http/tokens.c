/* SPDX-License-Identifier: Apache-2.0 */
#include "server/http/tokens.h"

#include <assert.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "core/base/array.h"
#include "core/base/string.h"
#include "server/http/address.h"

enum { PATTERN_MOST = 128 };

/* Takes the next pattern off a list; false when there is none left. */
static bool take_pattern(struct nb_string *list, struct nb_string *pattern)
{
    if (list->bytes == NULL)
        return false;
    const char *comma = memchr(list->bytes, ',', list->length);
    *pattern = (struct nb_string){list->bytes,
                                  comma != NULL ? (size_t)(comma - list->bytes) : list->length};
    if (comma != NULL)
        *list = nb_string_from(*list, pattern->length + 1);
    else
        *list = (struct nb_string){NULL, 0};
    return true;
}

bool nb_models_are_patterns(struct nb_string text)
{
    struct nb_string pattern;
    while (take_pattern(&text, &pattern)) {
        if (pattern.length == 0 || pattern.length > PATTERN_MOST)
            return false;
        for (size_t i = 0; i < pattern.length; i++) {
            char c = pattern.bytes[i];
            if (c == '\0' || (!nb_ascii_is_alphanumeric(c) && strchr("._@+-*?", c) == NULL))
                return false;
        }
    }
    return true;
}

bool nb_models_are_all(const char *patterns)
{
    struct nb_string list = nb_string_of(patterns), pattern;
    while (take_pattern(&list, &pattern)) {
        if (nb_string_equals(pattern, "*"))
            return true;
    }
    return false;
}

/* fnmatch is not used: its time grows exponentially with the number of stars. After a mismatch it
 * is enough to let the last star take one byte more (the earlier ones have already found their
 * leftmost places). */
static bool matches(struct nb_string pattern, struct nb_string name)
{
    size_t p = 0, n = 0, star = pattern.length, taken = 0;
    while (n < name.length) {
        if (p < pattern.length && pattern.bytes[p] == '*') {
            star = p++;
            taken = n;
        } else if (p < pattern.length &&
                   (pattern.bytes[p] == '?' || pattern.bytes[p] == name.bytes[n])) {
            p++;
            n++;
        } else if (star < pattern.length) {
            p = star + 1;
            n = ++taken;
        } else {
            return false;
        }
    }
    while (p < pattern.length && pattern.bytes[p] == '*')
        p++;
    return p == pattern.length;
}

bool nb_models_match(const char *patterns, struct nb_string name)
{
    struct nb_string list = nb_string_of(patterns), pattern;
    while (take_pattern(&list, &pattern)) {
        if (matches(pattern, name))
            return true;
    }
    return false;
}

int nb_models_check(const char *patterns, struct nb_string name, struct nb_error *error)
{
    if (nb_models_match(patterns, name))
        return 0;
    return nb_error_set(error, NB_FORBIDDEN, "this token is for the models %s only, not for '%.*s'",
                        patterns, (int)(name.length < 128 ? name.length : 128), name.bytes);
}

static_assert(NB_TOKEN_HASH == crypto_hash_sha256_BYTES, "a hash of SHA-256");

static const char HASHED[] = "sha256:";
static const char *const ROLES[] = {
    [NB_ROLE_CLASSIFY] = "classify", [NB_ROLE_TRAIN] = "train", [NB_ROLE_ADMIN] = "admin"};

bool nb_token_is_name(struct nb_string text)
{
    static const char NAME[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-@";
    size_t i = 0;
    while (i < text.length && text.bytes[i] != '\0' && strchr(NAME, text.bytes[i]) != NULL)
        i++;
    return i == text.length && i > 0 && i < NB_TOKEN_NAME;
}

bool nb_token_is_hash(struct nb_string text)
{
    return nb_string_starts(text, HASHED);
}

bool nb_token_read_hash(struct nb_string text, struct nb_token *token)
{
    size_t length = 0;
    const char *end;
    if (!nb_token_is_hash(text)) {
        (void)crypto_hash_sha256(token->hash, (const unsigned char *)text.bytes, text.length);
        return text.length >= NB_TOKEN_LEAST;
    }
    struct nb_string digits = nb_string_from(text, sizeof HASHED - 1);
    return sodium_hex2bin(token->hash, sizeof token->hash, digits.bytes, digits.length, NULL,
                          &length, &end) == 0 &&
           length == NB_TOKEN_HASH && end == digits.bytes + digits.length;
}

void nb_token_print_hash(const struct nb_token *token, char text[NB_TOKEN_HASH_TEXT])
{
    size_t length = sizeof HASHED - 1;
    memcpy(text, HASHED, length);
    (void)sodium_bin2hex(text + length, NB_TOKEN_HASH_TEXT - length, token->hash,
                         sizeof token->hash); /* it fits */
}

void nb_token_make(struct nb_token *token, char text[NB_TOKEN_TEXT])
{
    unsigned char random[32];
    char digits[sodium_base64_ENCODED_LEN(sizeof random, sodium_base64_VARIANT_URLSAFE_NO_PADDING)];
    randombytes_buf(random, sizeof random);
    (void)sodium_bin2base64(digits, sizeof digits, random, sizeof random,
                            sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    /* The prefix lets programs that search public places for secrets recognize it. */
    (void)snprintf(text, NB_TOKEN_TEXT, "bayesd_%s", digits); /* it fits */
    (void)crypto_hash_sha256(token->hash, (const unsigned char *)text, strlen(text));
    sodium_memzero(random, sizeof random);
    sodium_memzero(digits, sizeof digits);
}

const char *nb_role_name(enum nb_role role)
{
    assert(role != NB_ROLE_NONE);
    return ROLES[role];
}

enum nb_role nb_role_read(struct nb_string text)
{
    for (enum nb_role role = NB_ROLE_CLASSIFY; role <= NB_ROLE_ADMIN; role++) {
        if (nb_string_equals(text, ROLES[role]))
            return role;
    }
    return NB_ROLE_NONE;
}

/* Takes the name off "NAME=TOKEN". If the "=" is part of a token's own end, the text after it is
 * too short for a token: such an item has no name. */
static void take_name(struct nb_string *item, struct nb_token *token)
{
    const char *equals = memchr(item->bytes, '=', item->length);
    size_t length = equals != NULL ? (size_t)(equals - item->bytes) : 0;
    if (!nb_token_is_name((struct nb_string){item->bytes, length}) ||
        item->length - length - 1 < NB_TOKEN_LEAST)
        return;
    memcpy(token->name, item->bytes, length);
    *item = nb_string_from(*item, length + 1);
}

static int read_list(struct nb_tokens *tokens, const char *list, enum nb_role role,
                     struct nb_error *error)
{
    struct nb_string item;
    int rc = 0;
    for (size_t i = 1; nb_list_next(&list, &item) && rc == 0; i++) {
        struct nb_token token = {.role = role, .models = "*"};
        take_name(&item, &token);
        tokens->has_plain |= !nb_token_is_hash(item);
        if (!nb_token_read_hash(item, &token))
            return nb_error_set(error, NB_INVALID,
                                "[tokens] %s: token %zu must have at least %d characters, or be "
                                "sha256: and the 64 hexadecimal digits of its SHA-256",
                                nb_role_name(role), i, NB_TOKEN_LEAST);
        rc = nb_tokens_add(tokens, &token, error);
    }
    return rc;
}

int nb_tokens_read(struct nb_tokens *tokens, const struct nb_config *config, struct nb_error *error)
{
    *tokens = (struct nb_tokens){.all = NULL};
    int rc = read_list(tokens, config->tokens_classify, NB_ROLE_CLASSIFY, error);
    if (rc == 0)
        rc = read_list(tokens, config->tokens_train, NB_ROLE_TRAIN, error);
    if (rc == 0)
        rc = read_list(tokens, config->tokens_admin, NB_ROLE_ADMIN, error);
    if (rc != 0)
        nb_tokens_deinit(tokens);
    return rc;
}

void nb_tokens_deinit(struct nb_tokens *tokens)
{
    free(tokens->all);
    *tokens = (struct nb_tokens){.all = NULL};
}

int nb_tokens_add(struct nb_tokens *tokens, const struct nb_token *token, struct nb_error *error)
{
    if (nb_array_reserve(&tokens->all, &tokens->room, tokens->count + 1, sizeof *token) != 0)
        return nb_error_no_memory(error);
    tokens->all[tokens->count++] = *token;
    return 0;
}

int nb_tokens_list(const struct nb_tokens *tokens, enum nb_role role, struct nb_buffer *out)
{
    char hash[NB_TOKEN_HASH_TEXT];
    const char *between = "";
    int rc = 0;
    for (size_t i = 0; i < tokens->count && rc == 0; i++) {
        const struct nb_token *token = &tokens->all[i];
        if (token->role != role)
            continue;
        nb_token_print_hash(token, hash);
        rc = nb_buffer_printf(out, "%s%s%s%s", between, token->name,
                              token->name[0] != '\0' ? "=" : "", hash);
        between = ", ";
    }
    return rc;
}

const struct nb_token *nb_tokens_named(const struct nb_tokens *tokens, struct nb_string name)
{
    for (size_t i = 0; i < tokens->count; i++) {
        if (nb_string_equals(name, tokens->all[i].name))
            return &tokens->all[i];
    }
    return NULL;
}
