/* SPDX-License-Identifier: Apache-2.0 */
#include "server/access/token.h"

#include <assert.h>
#include <sodium.h>
#include <stdio.h>

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
    /* The prefix lets programs that look for secrets in public places know it. */
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
