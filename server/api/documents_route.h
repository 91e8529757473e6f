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
#include "server/http/request.h"

struct nb_json_document;
struct nb_results;

/* The query's options for verdicts. */
struct nb_posted_options {
    size_t explain;         /* most tokens in an explanation */
    char explain_label[65]; /* the label that is explained, of several; empty: the most probable */
    unsigned level;     /* label level at which probabilities are summed; 0: labels as they are */
    bool remembers;     /* verdicts are kept in the model's history */
    bool is_of_several; /* the request names several models; those without a history keep nothing */
    bool counts;        /* verdicts show the documents of each label even if the model is ready */
    bool word_counts;   /* explanations show how often their tokens occur */
    size_t top;         /* most labels that a verdict lists, the most probable ones; 0: all */
    struct nb_decision_rule rule; /* how verdicts become decisions */
};

/* Reads the options from the query. Returns 0, NB_INVALID, or with target_fpr a code of
 * nb_engine_evaluation. */
int nb_posted_options_read(const struct nb_request *request, struct nb_posted_options *options,
                           struct nb_error *error);

/* Writes the verdict of the model results->model on a document, and logs it if verdicts are logged.
 * `is_again`: `verdict` was last used for the same document. Fills `made` if the request asks for a
 * decision. Returns 0; a code of nb_engine_classify or nb_decision_make, for failures of the model
 * or the daemon; or NB_UNUSABLE for values that do not fit the model (nb_values_check). */
int nb_documents_judge(const struct nb_posted_options *options, struct nb_results *results,
                       const struct nb_json_document *document, bool is_again,
                       struct nb_verdict *verdict, struct nb_decision_made *made,
                       struct nb_error *error);

#endif
