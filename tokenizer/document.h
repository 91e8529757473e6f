/* SPDX-License-Identifier: Apache-2.0
 *
 * The entry point of the tokenizer: turns the bytes of a document into its bag. Any thread, any
 * number of calls at once; they share read-only tables only.
 *
 * The tokenizer knows no labels, no store and no HTTP. The same bytes, key, settings and version
 * always give the same bag.
 */
#ifndef NB_TOKENIZER_DOCUMENT_H
#define NB_TOKENIZER_DOCUMENT_H

#include "core/base/attribute.h"
#include "core/base/error.h"
#include "tokenizer/bag.h"
#include "tokenizer/mail_values.h"

enum nb_document_kind {
    NB_DOCUMENT_TEXT = 0, /* UTF-8; each invalid byte is read as windows-1252 */
    NB_DOCUMENT_MAIL = 1, /* one raw message (RFC 5322), any bytes */
    NB_DOCUMENT_HTML = 3  /* a page in UTF-8, read like an HTML part of a mail; 2 has another use
                           (core/writer/submit.c) */
};

struct nb_document {
    enum nb_document_kind kind;
    const char *bytes; /* borrowed */
    size_t length;
    struct nb_values values;     /* borrowed; the values of attributes, also without any bytes */
    struct nb_envelope envelope; /* envelope of a mail that is being delivered; else zeros */
};

/* Builds the Unicode tables and prepares the MIME library. Call it once, before any thread
 * tokenizes. Returns 0 or NB_NO_MEMORY. */
int nb_tokenizer_setup(struct nb_error *error);

/* Frees what nb_tokenizer_setup allocated; no thread may tokenize any more. */
void nb_tokenizer_teardown(void);

/* Resets `bag` and fills it with the features of the document. The values must have passed
 * nb_values_check for the attributes of the settings. No input is an error: any bytes give a bag,
 * in linear time. Returns 0 or NB_NO_MEMORY. */
int nb_document_tokenize(const struct nb_document *document, const struct nb_key *key,
                         const struct nb_tokenizer_settings *settings,
                         const struct nb_tokenizer_limits *limits, struct nb_bag *bag);

#endif
