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
#include "tokenizer/bag/bag.h"
#include "tokenizer/bag/tokenizing.h"

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
