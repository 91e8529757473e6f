/* SPDX-License-Identifier: Apache-2.0
 *
 * The routes that take documents: train, untrain, classify and tokenize (enum nb_verb), in one loop
 * for all verbs and all kinds of body. For the thread that works on the request.
 */
#ifndef NB_SERVER_API_DOCUMENTS_ROUTE_H
#define NB_SERVER_API_DOCUMENTS_ROUTE_H

#include <stdbool.h>
#include <stddef.h>

#include "server/api/decision.h"
#include "server/http/request/request.h"

struct nb_json_document;
struct nb_results;

/* What a request asks for in its verdicts. */
struct nb_posted_options {
    size_t explain;     /* tokens */
    unsigned level;     /* of the labels; 0: as they are */
    bool remembers;     /* verdicts are kept in the model's history */
    bool is_of_several; /* several models are asked: one without a history keeps nothing */
    bool counts;        /* the documents of each label, also of a model that is ready */
    bool word_counts;   /* how often the tokens of an explanation occur */
    size_t top;         /* labels that are told, the most probable ones; 0: all */
    struct nb_decision_rule rule; /* how verdicts become decisions */
};

/* Reads the options from the query. Returns 0, NB_INVALID, or with target_fpr a code of
 * nb_engine_evaluation. */
int nb_posted_options_read(const struct nb_request *request, struct nb_posted_options *options,
                           struct nb_error *error);

/* Writes the verdict of the model results->model on a document, and logs the verdict if verdicts
 * are logged. `is_again`: the last question to `verdict` was about the same document. Fills `made`
 * if a decision is asked for. Returns 0; a code of nb_engine_classify or nb_decision_make, for
 * failures of the model or the daemon; or NB_UNUSABLE for values that do not fit the model
 * (nb_values_check). */
int nb_documents_judge(const struct nb_posted_options *options, struct nb_results *results,
                       const struct nb_json_document *document, bool is_again,
                       struct nb_verdict *verdict, struct nb_decision_made *made,
                       struct nb_error *error);

#endif
