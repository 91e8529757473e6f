/* SPDX-License-Identifier: Apache-2.0
 *
 * Parts of a verdict outside the engine that every protocol needs: the working memory of a
 * classification, the log event when [log] verdicts is set, and the entry in the model's history.
 */
#ifndef NB_SERVER_HTTP_REQUEST_VERDICT_H
#define NB_SERVER_HTTP_REQUEST_VERDICT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "core/base/string.h"
#include "core/engine/engine.h"

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
