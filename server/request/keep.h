/* SPDX-License-Identifier: Apache-2.0
 *
 * Keeps a verdict, with some fields of a mail, in the history of its model; the same for every
 * protocol. For the thread that works on the request.
 */
#ifndef NB_SERVER_REQUEST_KEEP_H
#define NB_SERVER_REQUEST_KEEP_H

#include <stdbool.h>

#include "core/base/buffer.h"
#include "core/base/error.h"

struct nb_document;
struct nb_request;
struct nb_verdict;

/* The document and the client of a verdict; borrowed. */
struct nb_kept_verdict {
    struct nb_string id;     /* of the document; length 0: made from the content */
    struct nb_string source; /* the client that asks; length 0: the request's source */
};

/* Keeps the last verdict about `document`: for a mail with its Message-ID, and with its Subject if
 * the model has the setting `history_subject`. Appends the document's id to `id`, and sets *is_kept
 * to whether there was room. Returns as nb_engine_remember. */
int nb_verdict_keep(const struct nb_request *request, const struct nb_verdict *verdict,
                    const struct nb_document *document, const struct nb_kept_verdict *about,
                    struct nb_buffer *id, bool *is_kept, struct nb_error *error);

#endif
