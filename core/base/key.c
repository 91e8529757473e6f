/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/key.h"

#include <assert.h>
#include <sodium.h>
#include <string.h>

#include "core/base/string.h"

/* XXH3 needs a secret of at least 136 bytes with high entropy. It gets the first 192 bytes of the
 * ChaCha20 keystream of the 32 stored bytes; the words get the bytes after these. */
static void derive_secret(struct nb_key *key)
{
    unsigned char stream[sizeof key->secret + sizeof key->words];
    randombytes_buf_deterministic(stream, sizeof stream, key->bytes);
    memcpy(key->secret, stream, sizeof key->secret);
    memcpy(&key->words, stream + sizeof key->secret, sizeof key->words);
    for (size_t i = 0; i < NB_KEY_WORDS; i++)
        key->words.at[i] = le64toh(key->words.at[i]);
    sodium_memzero(stream, sizeof stream);
}

_Static_assert((int)NB_KEY_BYTES == (int)randombytes_SEEDBYTES, "the key seeds the keystream");

void nb_key_generate(struct nb_key *key)
{
    randombytes_buf(key->bytes, sizeof key->bytes);
    derive_secret(key);
}

uint64_t nb_key_random(void)
{
    uint64_t number;
    randombytes_buf(&number, sizeof number);
    return number;
}

void nb_key_restore(struct nb_key *key, const unsigned char bytes[NB_KEY_BYTES])
{
    memcpy(key->bytes, bytes, NB_KEY_BYTES);
    derive_secret(key);
}

/* ---- ids from content ------------------------------------------------------------------------ */

enum { DIGEST_BYTES = NB_CONTENT_ID_LENGTH / 2 };

static void id_begin(crypto_generichash_state *state, const struct nb_key *key, unsigned char kind)
{
    crypto_generichash_init(state, key->bytes, sizeof key->bytes, DIGEST_BYTES);
    crypto_generichash_update(state, &kind, 1);
}

static void id_add(crypto_generichash_state *state, const void *bytes, size_t length)
{
    crypto_generichash_update(state, bytes, length);
}

static void id_end(crypto_generichash_state *state, char id[NB_CONTENT_ID_LENGTH + 1])
{
    unsigned char digest[DIGEST_BYTES];
    crypto_generichash_final(state, digest, sizeof digest);
    sodium_bin2hex(id, NB_CONTENT_ID_LENGTH + 1, digest, sizeof digest);
}

void nb_key_content_id(const struct nb_key *key, unsigned char kind, const void *content,
                       size_t length, char id[NB_CONTENT_ID_LENGTH + 1])
{
    crypto_generichash_state state;
    id_begin(&state, key, kind);
    id_add(&state, content, length);
    id_end(&state, id);
}

/* Hashes the bytes from `from` to `end` without the CR of each CRLF. */
static void add_lines(crypto_generichash_state *state, const char *from, const char *end)
{
    const char *at = from;
    while (at < end && (at = memchr(at, '\r', (size_t)(end - at))) != NULL) {
        if (++at == end || *at != '\n')
            continue;
        id_add(state, from, (size_t)(at - 1 - from));
        from = at;
    }
    id_add(state, from, (size_t)(end - from));
}

void nb_key_mail_id(const struct nb_key *key, unsigned char kind, const char *mail, size_t length,
                    char id[NB_CONTENT_ID_LENGTH + 1])
{
    assert(mail != NULL || length == 0);
    crypto_generichash_state state;
    const char *end = mail + length;
    const char *from = mail + nb_lines_separator((struct nb_string){mail, length});
    while (end > from && (end[-1] == '\n' || end[-1] == '\r'))
        end--;
    id_begin(&state, key, kind);
    add_lines(&state, from, end);
    id_add(&state, "\n", 1);
    id_end(&state, id);
}
