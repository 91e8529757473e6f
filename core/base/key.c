/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/key.h"

#include <sodium.h>
#include <string.h>

/* XXH3 wants a secret of at least 136 bytes with high entropy: 192 bytes of ChaCha20 keystream
 * keyed with the stored 32 bytes. */
static void derive_secret(struct nb_key *key)
{
    randombytes_buf_deterministic(key->secret, sizeof key->secret, key->bytes);
}

_Static_assert((int)NB_KEY_BYTES == (int)randombytes_SEEDBYTES, "the key seeds the keystream");

void nb_key_generate(struct nb_key *key)
{
    randombytes_buf(key->bytes, sizeof key->bytes);
    derive_secret(key);
}

void nb_key_restore(struct nb_key *key, const unsigned char bytes[NB_KEY_BYTES])
{
    memcpy(key->bytes, bytes, NB_KEY_BYTES);
    derive_secret(key);
}

void nb_key_content_id(const struct nb_key *key, unsigned char kind, const void *content,
                       size_t length, char id[NB_CONTENT_ID_LENGTH + 1])
{
    unsigned char digest[NB_CONTENT_ID_LENGTH / 2];
    crypto_generichash_state state;
    crypto_generichash_init(&state, key->bytes, sizeof key->bytes, sizeof digest);
    crypto_generichash_update(&state, &kind, 1);
    crypto_generichash_update(&state, content, length);
    crypto_generichash_final(&state, digest, sizeof digest);
    sodium_bin2hex(id, NB_CONTENT_ID_LENGTH + 1, digest, sizeof digest);
}
