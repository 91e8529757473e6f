/* SPDX-License-Identifier: Apache-2.0
 *
 * The documents of a request's body, whatever its media type: one place for train, untrain,
 * classify and tokenize. HTTP threads; one request at a time.
 */
#ifndef NB_SERVER_DOCUMENTS_H
#define NB_SERVER_DOCUMENTS_H

#include <stdbool.h>

#include "core/base/error.h"
#include "server/codec.h"
#include "server/request.h"

/* Takes the documents one after the other. Every function returns 0 to go on, or a code that fails
 * the whole request. */
struct nb_document_taker {
    int (*begin)(void *user, bool is_batch, struct nb_error *error);
    int (*document)(void *user, const struct nb_codec_document *document, struct nb_error *error);
    int (*failed)(void *user, const struct nb_error *why,
                  struct nb_error *error); /* in its place */
};

/* Reads request->body (anything but NDJSON) to its end. A document that is the only one and cannot
 * be read fails the request; one of a batch is given to `failed`. */
int nb_documents_read(struct nb_request *request, enum nb_codec_verb verb,
                      const struct nb_document_taker *taker, void *user, struct nb_error *error);

/* Reads the document of an NDJSON line; errors name the line. A line that cannot be read is given
 * to `failed`. */
int nb_documents_read_line(struct nb_request *request, const struct nb_line *line,
                           enum nb_codec_verb verb, const struct nb_document_taker *taker,
                           void *user, struct nb_error *error);

#endif
