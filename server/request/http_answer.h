/* SPDX-License-Identifier: Apache-2.0
 *
 * Answering a request: its beginning, the functions of its route, its reply and its end. For the
 * thread that works on the request.
 */
#ifndef NB_SERVER_REQUEST_HTTP_ANSWER_H
#define NB_SERVER_REQUEST_HTTP_ANSWER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/base/string.h"

struct nb_protocol;
struct nb_reply;
struct nb_request;

/* To be called by the carrier when the header fields are there. A stop waits for the request from
 * now on, and the configuration in force is the request's to its end. */
void nb_request_begin(struct nb_request *request);

/* Waits for the changes that the request is to see (wait.h), then calls the route's `prepare`.
 * To be called before the body is used, until it returns 0: NB_WAIT (come again with the same
 * bytes), or an error code, which fails the request. */
int nb_request_prepare(struct nb_request *request, struct nb_error *error);

/* Calls the route's handler with all of the body, which is borrowed. Returns what it returns. */
int nb_request_handle(struct nb_request *request, struct nb_string body, struct nb_error *error);

/* ---- the reply ----------------------------------------------------------------------------------
 */

/* The HTTP API's own: problems as application/problem+json (RFC 9457). */
extern const struct nb_protocol nb_protocol_api;

/* Whether there is a reply to send. */
bool nb_reply_is_there(const struct nb_request *request);

/* The reply is what was appended to reply.body, of this type (a static string). A JSON object of
 * the API gets the member "number" if the request has one. Returns 0. */
int nb_reply_with(struct nb_request *request, unsigned status, const char *content_type);

/* The same for application/json. Returns 0. */
int nb_reply_json(struct nb_request *request, unsigned status);

/* Ends a reply that was written to reply.body: `rc` is 0, or the code of the writing, which can
 * only be short of memory. Returns 0 or NB_NO_MEMORY. */
int nb_reply_written(struct nb_request *request, int rc, struct nb_error *error);

/* Begins a reply that may become long: append to reply.spool.tail and settle it. */
void nb_reply_spool(struct nb_request *request);
/* Ends it. Returns 0 or what nb_spool_finish does. */
int nb_reply_spooled(struct nb_request *request, unsigned status, const char *content_type,
                     struct nb_error *error);

/* Notes the memory of a finished reply in the budget of replies, until the request has ended: a
 * client that does not read keeps it. When the budget is full, the reply becomes a problem that
 * says so. Small replies are never refused: the number of connections bounds them. For the carrier,
 * before it sends. */
void nb_reply_hold(struct nb_request *request);

/* Every failure goes through here: drops what was written so far and makes the problem reply of the
 * route's protocol; of the API's where there is no route. */
void nb_reply_problem(struct nb_request *request, unsigned status, const char *detail);
/* The same with the status that belongs to a code. A 503 says that nothing was done. So when a
 * change of the request is in force (has_changed) and the reply to it fails, the reply is withheld:
 * a client whose connection ends knows that its change may have happened. */
void nb_reply_error(struct nb_request *request, const struct nb_error *error);

/* Frees what the reply holds. */
void nb_reply_deinit(struct nb_reply *reply);

/* ---- the end ------------------------------------------------------------------------------------
 */

struct nb_request_figures {
    const char *method;      /* for the log */
    unsigned status;         /* 0: the client was gone before it had the reply */
    uint64_t received, sent; /* bytes of the bodies */
};

/* To be called by the carrier when the reply is out, or the client gone: writes the log, counts,
 * and frees what the request owns, but `request` itself and what has come of its body
 * (nb_transfer_end). */
void nb_request_end(struct nb_request *request, const struct nb_request_figures *figures);

#endif
