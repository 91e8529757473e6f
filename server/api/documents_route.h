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

/* What a request wants of its verdicts. */
struct nb_posted_options {
    size_t explain;               /* tokens */
    unsigned level;               /* of the labels; 0: as they are */
    bool remembers;               /* verdicts are kept in the model's history */
    bool is_of_several;           /* models: where one keeps no history, nothing is kept */
    bool counts;                  /* the documents of each label, also of a model that is ready */
    bool word_counts;             /* how often the tokens of an explanation occur */
    size_t top;                   /* labels that are told, the most probable ones; 0: all */
    struct nb_decision_rule rule; /* how verdicts become decisions */
};

/* Reads it from the query. NB_INVALID, and with target_fpr all that nb_engine_evaluation says. */
int nb_posted_options_read(const struct nb_request *request, struct nb_posted_options *options,
                           struct nb_error *error);

/* Writes the verdict of the model results->model about a document, and logs it where that is
 * wanted. `is_again`: `verdict` was asked about this document last. `made` is filled if a decision
 * is wanted. Returns what nb_engine_classify and nb_decision_make do: failures of the model or the
 * daemon, and of a document with values NB_UNUSABLE, as nb_values_check. */
int nb_documents_judge(const struct nb_posted_options *options, struct nb_results *results,
                       const struct nb_json_document *document, bool is_again,
                       struct nb_verdict *verdict, struct nb_decision_made *made,
                       struct nb_error *error);

#endif
