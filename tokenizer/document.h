/* SPDX-License-Identifier: Apache-2.0
 *
 * The tokenizer's front door: the bytes of a document in, its bag out. Any thread, any number at
 * once; nothing is shared between calls but read-only tables.
 *
 * The tokenizer knows no labels, no store and no HTTP. The same bytes, key, settings and version
 * always give the same bag.
 */
#ifndef NB_TOKENIZER_DOCUMENT_H
#define NB_TOKENIZER_DOCUMENT_H

#include "core/base/error.h"
#include "tokenizer/bag.h"

/* Raised whenever the same bytes would give another bag; stored with every model. */
enum { NB_TOKENIZER_VERSION = 1 };

enum nb_document_kind {
    NB_DOCUMENT_TEXT = 0, /* UTF-8; bytes that are not are read as windows-1252 */
    NB_DOCUMENT_MAIL = 1  /* one raw message (RFC 5322), any bytes */
};

struct nb_document {
    enum nb_document_kind kind;
    const char *bytes; /* borrowed */
    size_t length;
};

/* What may be counted: one bit per field. A field that is off costs nothing. */
struct nb_tokenizer_settings {
    uint32_t fields; /* 1u << enum nb_field ... */
};

/* Limits, each a named setting of the configuration ([tokenizer]). What is over a limit is left
 * out and reported by bag->truncated. */
struct nb_tokenizer_limits {
    size_t tokens;       /* occurrences of features in one document; default 100,000 */
    size_t mail_bytes;   /* bytes of one mail that are read: head and tail; default 4 MiB */
    size_t mail_parts;   /* MIME parts; default 1,000 */
    size_t mail_depth;   /* nesting of multiparts and messages; default 32 */
    size_t header_bytes; /* bytes of one mail's header fields that are read; default 1 MiB */
};

#define NB_TOKENIZER_LIMITS_DEFAULT                                                                \
    ((struct nb_tokenizer_limits){.tokens = 100000,                                                \
                                  .mail_bytes = (size_t)4 << 20,                                   \
                                  .mail_parts = 1000,                                              \
                                  .mail_depth = 32,                                                \
                                  .header_bytes = (size_t)1 << 20})

/* Builds the Unicode tables and prepares the MIME library. Call once, before any thread
 * tokenizes. Returns 0 or a code. */
int nb_tokenizer_setup(struct nb_error *error);

/* Frees what nb_tokenizer_setup made, so that leak checkers have nothing to say. */
void nb_tokenizer_teardown(void);

/* Resets `bag` and fills it with the document's features. Malformed input is no error: whatever
 * the bytes, they give a bag, in time linear in their number. Returns 0 or NB_NO_MEMORY. */
int nb_document_tokenize(const struct nb_document *document, const struct nb_key *key,
                         const struct nb_tokenizer_settings *settings,
                         const struct nb_tokenizer_limits *limits, struct nb_bag *bag);

#endif
