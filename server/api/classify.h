/* SPDX-License-Identifier: Apache-2.0
 *
 * Classify and tokenize: what is asked of the engine about one document, and what is written about
 * it. For the thread that works on the request.
 */
#ifndef NB_SERVER_API_CLASSIFY_H
#define NB_SERVER_API_CLASSIFY_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/error.h"
#include "server/api/decision.h"

struct nb_json_document;
struct nb_document;
struct nb_request;
struct nb_results;

/* What a request wants of its verdicts. */
struct nb_classify {
    size_t explain; /* tokens */
    struct nb_decision_rule rule;
};

/* Whether nb_classify_read has to evaluate the model, which takes long. */
bool nb_classify_is_long(const struct nb_request *request);

/* Reads it from the query. NB_INVALID, and with target_fpr all that nb_engine_evaluation says. */
int nb_classify_read(const struct nb_request *request, struct nb_classify *wanted,
                     struct nb_error *error);

/* Classifies a document, writes the verdict, and logs it where that is wanted. Returns 0, or what
 * nb_engine_classify and nb_decision_make return: failures of the model or the daemon, never of the
 * document. */
int nb_classify_document(const struct nb_classify *wanted, const struct nb_json_document *document,
                         struct nb_results *results, struct nb_error *error);

/* Writes what the model sees in a document. */
int nb_tokenize_document(const struct nb_document *document, struct nb_results *results,
                         struct nb_error *error);

#endif
