/* SPDX-License-Identifier: Apache-2.0 */
#include "server/events/signature.h"

#include <assert.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

static const char PREFIX[] = "whsec_";
static const char VERSION[] = "v1,";

int nb_event_secret_read(struct nb_string text, struct nb_event_secret *secret,
                         struct nb_error *error)
{
    struct nb_event_secret read = {.length = 0};
    struct nb_string digits = nb_string_from(text, sizeof PREFIX - 1);
    if (nb_string_starts(text, PREFIX) &&
        sodium_base642bin(read.bytes, sizeof read.bytes, digits.bytes, digits.length, NULL,
                          &read.length, NULL, sodium_base64_VARIANT_ORIGINAL) == 0 &&
        read.length >= NB_SECRET_LEAST) {
        *secret = read;
        return 0;
    }
    return nb_error_set(error, NB_INVALID,
                        "the secret must be %s and %d to %d random bytes in base64, as "
                        "echo %s$(openssl rand -base64 32) makes it",
                        PREFIX, NB_SECRET_LEAST, NB_SECRET_MOST, PREFIX);
}

void nb_event_sign(const struct nb_event_secret *secret, const char *id, int64_t time,
                   struct nb_string body, char signature[NB_SIGNATURE_TEXT])
{
    unsigned char mac[crypto_auth_hmacsha256_BYTES];
    crypto_auth_hmacsha256_state state;
    char number[24];
    static_assert(sizeof VERSION - 1 +
                          sodium_base64_ENCODED_LEN(sizeof mac, sodium_base64_VARIANT_ORIGINAL) <=
                      NB_SIGNATURE_TEXT,
                  "it fits");
    size_t length = (size_t)snprintf(number, sizeof number, ".%" PRId64 ".", time); /* it fits */
    assert(length < sizeof number && secret->length <= sizeof secret->bytes);
    (void)crypto_auth_hmacsha256_init(&state, secret->bytes, secret->length); /* these never fail */
    (void)crypto_auth_hmacsha256_update(&state, (const unsigned char *)id, strlen(id));
    (void)crypto_auth_hmacsha256_update(&state, (const unsigned char *)number, length);
    (void)crypto_auth_hmacsha256_update(&state, (const unsigned char *)body.bytes, body.length);
    (void)crypto_auth_hmacsha256_final(&state, mac);
    memcpy(signature, VERSION, sizeof VERSION - 1);
    (void)sodium_bin2base64(signature + sizeof VERSION - 1, NB_SIGNATURE_TEXT - sizeof VERSION + 1,
                            mac, sizeof mac, sodium_base64_VARIANT_ORIGINAL);
}
