/* SPDX-License-Identifier: Apache-2.0
 *
 * Parts of a verdict outside the engine that every protocol needs: the working memory of a
 * classification, and a log event when [log] verdicts is set.
 */
#ifndef NB_SERVER_REQUEST_REQUEST_VERDICT_H
#define NB_SERVER_REQUEST_REQUEST_VERDICT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/string.h"
#include "core/engine/engine.h"

struct nb_request;

/* ---- memory -------------------------------------------------------------------------------------
 */

/* Working memory that is reused from request to request, so that a verdict costs few allocations.
 * The pool is for any thread; a scratch belongs to the thread that took it. */
struct nb_scratch {
    struct nb_verdict verdict;
    struct nb_bag bag;
    struct nb_scratch *next;
};

/* Keeps every scratch ever made: at most one for each thread that works on requests. */
struct nb_scratch_pool;

/* Makes a pool. Returns NULL when there is no memory. */
struct nb_scratch_pool *nb_scratch_pool_new(void);
void nb_scratch_pool_free(struct nb_scratch_pool **pool);

/* Takes a scratch; give it back with nb_scratch_give. Returns NULL when there is no memory. */
struct nb_scratch *nb_scratch_take(struct nb_scratch_pool *pool);
void nb_scratch_give(struct nb_scratch_pool *pool, struct nb_scratch *scratch);

/* ---- the log ------------------------------------------------------------------------------------
 */

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

#endif
