/* SPDX-License-Identifier: Apache-2.0
 *
 * Answers a request: its beginning, the calls of its route's functions, its reply and its end. For
 * the thread that works on the request.
 */
#ifndef NB_SERVER_HTTP_HTTP_ANSWER_H
#define NB_SERVER_HTTP_HTTP_ANSWER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "core/base/string.h"
#include "core/engine/engine.h"

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

/* Parts of a verdict outside the engine that every protocol needs: the working memory of a
 * classification, the log event when [log] verdicts is set, and the entry in the model's history.
 */

struct nb_document;
struct nb_request;
struct nb_scratch_pool;
struct nb_verdict;

/* ---- memory ---------------------------------------------------------------------------------- */

/* Working memory that is reused from request to request, so that a verdict costs few allocations.
 * The pool is for any thread; a scratch belongs to the thread that took it. */
struct nb_scratch {
    struct nb_verdict verdict;
    struct nb_bag bag;
    struct nb_scratch *next;
};

/* Keeps every scratch ever made: at most one for each thread that works on requests. */

/* Makes a pool. Returns NULL when there is no memory. */
struct nb_scratch_pool *nb_scratch_pool_new(void);
void nb_scratch_pool_free(struct nb_scratch_pool **pool);

/* Takes a scratch; give it back with nb_scratch_give. Returns NULL when there is no memory. */
struct nb_scratch *nb_scratch_take(struct nb_scratch_pool *pool);
void nb_scratch_give(struct nb_scratch_pool *pool, struct nb_scratch *scratch);

/* Returns the id of a message without blanks and angle brackets around it. */
struct nb_string nb_without_angles(struct nb_string s);

/* ---- the log --------------------------------------------------------------------------------- */

/* The verdict on one document, without any of its content. Texts of length 0 are left out. All
 * texts are borrowed; they may have any bytes. */
struct nb_verdict_note {
    struct nb_string id;         /* as the request gives it */
    struct nb_string message_id; /* of a mail, with or without angle brackets */
    struct nb_string model, verdict;
    double probability;      /* of spam for mail software, else of the label that won */
    double score;            /* for mail software on the scale of its protocol, else the log-odds */
    struct nb_string action; /* the action in the reply to mail software */
    uint64_t nanoseconds;    /* duration of the verdict */
};

/* Whether verdicts are logged; if not, callers need not prepare a note. */
bool nb_verdict_log_wants(const struct nb_request *request);

/* Logs a verdict. For the thread that works on the request. */
void nb_verdict_log(const struct nb_request *request, const struct nb_verdict_note *note);

/* ---- the history ----------------------------------------------------------------------------- */

/* The document and the client of a verdict; borrowed. */
struct nb_kept_verdict {
    struct nb_string id;     /* of the document; length 0: made from the content */
    struct nb_string source; /* the client that asks; length 0: the request's source */
};

/* Keeps the last verdict about `document`: for a mail with its Message-ID, and with its Subject if
 * the model has the setting `history_subject`. Appends the document's id to `id`, and sets *is_kept
 * to whether there was room. Returns as nb_engine_remember. For the thread that works on the
 * request. */
int nb_verdict_keep(const struct nb_request *request, const struct nb_verdict *verdict,
                    const struct nb_document *document, const struct nb_kept_verdict *about,
                    struct nb_buffer *id, bool *is_kept, struct nb_error *error);

#endif
