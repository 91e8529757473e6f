/* SPDX-License-Identifier: Apache-2.0
 *
 * The secret of a model and what is hashed under it. Any thread; a key is read-only once made.
 *
 * Feature ids are 64-bit hashes. Mail is written by attackers, so the hash is keyed: without the
 * secret nobody can make two words fall together, or a document take another document's id.
 */
#ifndef NB_CORE_BASE_KEY_H
#define NB_CORE_BASE_KEY_H

#include <stddef.h>
#include <stdint.h>

#define XXH_INLINE_ALL
#define XXH_NO_STREAM
#include <xxhash.h>

enum {
    NB_KEY_BYTES = 32,        /* what is stored and exported */
    NB_CONTENT_ID_LENGTH = 32 /* hexadecimal digits of an id made from content (128 bits) */
};

struct nb_key {
    unsigned char bytes[NB_KEY_BYTES];
    unsigned char secret[XXH_SECRET_DEFAULT_SIZE]; /* XXH3's secret, derived from `bytes` */
};

/* Draws a new random key from the operating system (libsodium's randombytes). */
void nb_key_generate(struct nb_key *key);

/* Makes the key whose stored bytes are given. */
void nb_key_restore(struct nb_key *key, const unsigned char bytes[NB_KEY_BYTES]);

/* XXH3, 64 bits, with the key's secret. */
static inline uint64_t nb_key_hash(const struct nb_key *key, const void *bytes, size_t length)
{
    return XXH3_64bits_withSecret(bytes, length, key->secret, sizeof key->secret);
}

/* The id of a document that came without one: keyed BLAKE2b, 128 bits (RFC 7693), over the byte
 * `kind` (a text and a mail of the same bytes are two documents) and the content. Writes 32
 * hexadecimal digits and a NUL. */
void nb_key_content_id(const struct nb_key *key, unsigned char kind, const void *content,
                       size_t length, char id[NB_CONTENT_ID_LENGTH + 1]);

/* The same for a mail, and the same however it travelled: a line "From ..." in front, which an mbox
 * puts there (RFC 4155), is passed over, line ends are hashed as LF (a Maildir has LF; SMTP and
 * IMAP have CRLF, RFC 5321 and RFC 9051), and what line ends there are at the end, of which mboxes
 * and transports add some, are one. A mail with LF that ends with one has the id of its bytes. */
void nb_key_mail_id(const struct nb_key *key, unsigned char kind, const char *mail, size_t length,
                    char id[NB_CONTENT_ID_LENGTH + 1]);

#endif
