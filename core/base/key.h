/* SPDX-License-Identifier: Apache-2.0
 *
 * A secret key, and the hashes under it: ids of features, and ids of documents that follow from
 * their content. Any thread; a key is read-only once it is made.
 *
 * Attackers write mail, so both hashes are keyed: without the key nobody can write two words that
 * have one id, or a document that has the id of another.
 */
#ifndef NB_CORE_BASE_KEY_H
#define NB_CORE_BASE_KEY_H

#include <stddef.h>
#include <stdint.h>

#define XXH_INLINE_ALL
#define XXH_NO_STREAM
#include <xxhash.h>

#include "core/base/platform/byte_order.h"
#include "core/base/wide.h"

enum {
    NB_KEY_BYTES = 32,        /* bytes of a key in the store and in a dump */
    NB_KEY_WORDS = 8,         /* 64-bit numbers for the hashes of features (feature.h) */
    NB_CONTENT_ID_LENGTH = 32 /* hexadecimal digits of an id that follows from content: 128 bits */
};

struct nb_key_words {
    uint64_t at[NB_KEY_WORDS];
};

struct nb_key {
    unsigned char bytes[NB_KEY_BYTES];
    /* Derived from `bytes`: */
    unsigned char secret[XXH_SECRET_DEFAULT_SIZE]; /* XXH3's secret */
    struct nb_key_words words;
};

/* Makes a new key from random numbers of the operating system (libsodium). */
void nb_key_generate(struct nb_key *key);

/* Returns a random number of the operating system (libsodium). */
uint64_t nb_key_random(void);

/* Makes the key with the given bytes, which came from the store or a dump. */
void nb_key_restore(struct nb_key *key, const unsigned char bytes[NB_KEY_BYTES]);

/* Hashes bytes to 64 bits: XXH3 with the secret of the key. */
static inline uint64_t nb_key_hash(const struct nb_key *key, const void *bytes, size_t length)
{
    return XXH3_64bits_withSecret(bytes, length, key->secret, sizeof key->secret);
}

/* Writes the id of a document that has none of its own: keyed BLAKE2b, 128 bits (RFC 7693), as 32
 * hexadecimal digits and a NUL. The hash covers the byte `kind`, so that a text and a mail of the
 * same bytes are two documents, and the content. */
void nb_key_content_id(const struct nb_key *key, unsigned char kind, const void *content,
                       size_t length, char id[NB_CONTENT_ID_LENGTH + 1]);

/* Writes the id that older programs gave a mail. core/writer/submit.c uses it to find mails of
 * older stores; new ids derive from the identity of a mail (tokenizer/mail_identity.h).
 * - A separator line "From ...", which an mbox puts in front (RFC 4155), is left out.
 * - Line ends are hashed as LF: a Maildir has LF, SMTP and IMAP have CRLF (RFC 5321, RFC 9051).
 * - All line ends at the end count as one: mboxes and transports add some.
 * So a mail with LF that ends with one line end has the id of its bytes (nb_key_content_id). */
void nb_key_mail_id(const struct nb_key *key, unsigned char kind, const char *mail, size_t length,
                    char id[NB_CONTENT_ID_LENGTH + 1]);

#endif
