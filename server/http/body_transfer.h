/* SPDX-License-Identifier: Apache-2.0
 *
 * Receives a request's body: decodes it, then keeps it whole or passes it to the route line by
 * line. One thread at a time works on a request.
 */
#ifndef NB_SERVER_HTTP_BODY_TRANSFER_H
#define NB_SERVER_HTTP_BODY_TRANSFER_H

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "server/http/decoder.h"

struct nb_request;

/* Prepares to receive the body that request->type and request->is_lines describe. Returns 0 or
 * NB_NO_MEMORY. */
int nb_transfer_begin(struct nb_request *request, enum nb_coding coding, struct nb_error *error);

/* Takes bytes as they arrive, and moves `input` behind them. Returns 0, NB_WAIT (a line's handler
 * waits; call again with the rest) or an error code, which fails the request. */
int nb_transfer_take(struct nb_request *request, struct nb_string *input, struct nb_error *error);

/* Call it after the last byte: passes the remaining lines on and calls the route's handler. Returns
 * the handler's result, or NB_WAIT before that; then call again. */
int nb_transfer_finish(struct nb_request *request, struct nb_error *error);

/* Takes `body`, the whole body in a coding, borrowed: decodes it at once and calls the handler. For
 * requests on a thread of a pool, where waiting blocks nobody else. Returns the handler's result or
 * an error code. */
int nb_transfer_packed(struct nb_request *request, enum nb_coding coding, struct nb_string body,
                       struct nb_error *error);

/* Frees the received bytes, if any. The carrier calls it when the request ends. */
void nb_transfer_end(struct nb_request *request);

#endif
