/* SPDX-License-Identifier: Apache-2.0
 *
 * A request's body on its way in: decoded, then kept whole or given to the route line by line. One
 * thread at a time works on a request.
 */
#ifndef NB_SERVER_REQUEST_BODY_TRANSFER_H
#define NB_SERVER_REQUEST_BODY_TRANSFER_H

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "server/request/decoder.h"

struct nb_request;

/* Makes ready to receive the body that request->type and request->is_lines describe. 0 or
 * NB_NO_MEMORY. */
int nb_transfer_begin(struct nb_request *request, enum nb_coding coding, struct nb_error *error);

/* Takes bytes as they arrive; `input` is moved on by what was taken. Returns 0, NB_WAIT (a line's
 * handler waits; come again with the rest) or an error code, which fails the request. */
int nb_transfer_take(struct nb_request *request, struct nb_string *input, struct nb_error *error);

/* After the last byte: gives the lines that are left and calls the route's handler. Returns what
 * the handler does, or NB_WAIT earlier: come again then. */
int nb_transfer_finish(struct nb_request *request, struct nb_error *error);

/* The body is `body`, all of it, borrowed, in a coding: unpacks it at once and calls the handler.
 * For requests on a thread of a pool, which lets nobody else wait. Returns what the handler does,
 * or an error code. */
int nb_transfer_packed(struct nb_request *request, enum nb_coding coding, struct nb_string body,
                       struct nb_error *error);

/* Frees what was received; allowed if nothing was. To be called by the carrier when the request
 * ends. */
void nb_transfer_end(struct nb_request *request);

#endif
