/* SPDX-License-Identifier: Apache-2.0
 *
 * Answers a request: its beginning, the calls of its route's functions, its reply and its end. For
 * the thread that works on the request.
 */
#ifndef NB_SERVER_HTTP_HTTP_ANSWER_H
#define NB_SERVER_HTTP_HTTP_ANSWER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/base/string.h"

struct nb_protocol;
struct nb_reply;
struct nb_request;

/* The carrier calls it when the header fields are known. From now on a stop of the daemon waits for
 * the request, and the request keeps the configuration in force to its end. */
void nb_request_begin(struct nb_request *request);

/* Waits for the changes that the request must see (wait.h), then calls the route's `prepare`. Call
 * it before the body is used, until it returns 0. Else it returns NB_WAIT (call again with the same
 * bytes), or an error code, which fails the request. */
int nb_request_prepare(struct nb_request *request, struct nb_error *error);

/* Calls the route's handler with the whole body, which is borrowed. Returns the handler's
 * result. */
int nb_request_handle(struct nb_request *request, struct nb_string body, struct nb_error *error);

/* ---- the reply ------------------------------------------------------------------------------- */

/* The protocol of the HTTP API: problems are application/problem+json (RFC 9457). */
extern const struct nb_protocol nb_protocol_api;

/* Whether there is a reply to send. */
bool nb_reply_is_there(const struct nb_request *request);

/* Makes the bytes that were appended to reply.body the reply, of this type (a static string). A
 * JSON object of the API gets the member "number" if the request has one. Returns 0. */
int nb_reply_with(struct nb_request *request, unsigned status, const char *content_type);

/* Like nb_reply_with, for application/json. Returns 0. */
int nb_reply_json(struct nb_request *request, unsigned status);

/* Ends a reply that was written to reply.body. `rc` is the result of writing: 0, or an error, which
 * can only be lack of memory. Returns 0 or NB_NO_MEMORY. */
int nb_reply_written(struct nb_request *request, int rc, struct nb_error *error);

/* Begins a reply that may become long: append to reply.spool.tail and settle it. */
void nb_reply_spool(struct nb_request *request);
/* Ends a spooled reply. Returns 0 or the result of nb_spool_finish. */
int nb_reply_spooled(struct nb_request *request, unsigned status, const char *content_type,
                     struct nb_error *error);

/* Charges the memory of a finished reply to the budget of replies until the request has ended,
 * because a client that does not read keeps it in memory. When the budget is full, the reply
 * becomes a problem that says so. Small replies are never refused: the number of connections bounds
 * them. The carrier calls it before it sends. */
void nb_reply_hold(struct nb_request *request);

/* Makes the problem reply for a failure, in the protocol of the route, or of the API if there is no
 * route. Drops the reply that was written so far. */
void nb_reply_problem(struct nb_request *request, unsigned status, const char *detail);
/* Like nb_reply_problem, with the status of an error code. A 503 means that nothing was done. So
 * when a change of the request is in force (has_changed) and its reply fails, the reply is
 * withheld: a client whose connection ends knows that its change may have happened. */
void nb_reply_error(struct nb_request *request, const struct nb_error *error);

/* Frees the contents of the reply. */
void nb_reply_deinit(struct nb_reply *reply);

/* ---- the end --------------------------------------------------------------------------------- */

struct nb_request_figures {
    const char *method;      /* for the log */
    unsigned status;         /* 0: the client left before it had the reply */
    uint64_t received, sent; /* bytes of the bodies */
};

/* The carrier calls it when the reply is sent or the client has gone. Writes the log, counts, and
 * frees everything that the request owns, except `request` itself and its received body
 * (nb_transfer_end). */
void nb_request_end(struct nb_request *request, const struct nb_request_figures *figures);

#endif
