/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes the reply to a request about documents: one result, {"results": [...]} with totals, or one
 * result a line. For the thread that works on the request; the results belong to it.
 */
#ifndef NB_SERVER_API_RESULTS_H
#define NB_SERVER_API_RESULTS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/engine/engine.h"

struct nb_request;

/* What is to be done about a document, and why. */
struct nb_json_decision {
    const char *label; /* or "unsure" */
    const char *reason;
};

enum nb_results_form {
    NB_RESULTS_ONE,   /* the result itself; a failure fails the request */
    NB_RESULTS_BATCH, /* {"results": [...], totals, "failed": n} */
    NB_RESULTS_LINES  /* NDJSON */
};

struct nb_results {
    struct nb_request *request;
    enum nb_results_form form;
    struct nb_string model; /* model of the next result; at first that of the request */
    struct nb_buffer
        id; /* owned: of the document whose verdict the history was asked to keep; else empty */
    bool is_kept;                 /* ... and whether it keeps it */
    bool has_counts;              /* verdicts have the documents of each label */
    bool has_word_counts;         /* tokens of explanations have their counts */
    size_t top;                   /* verdicts have so many labels at most; 0: all */
    const char *warning;          /* about how the text of the next result was read; NULL: none */
    const char *table_warning;    /* the same about a table, for all results */
    uint64_t size;                /* results so far */
    uint64_t totals[NB_STATUSES]; /* receipts, by enum nb_status */
    uint64_t failed;
};

/* Every function returns 0, or a code that fails the request: NB_NO_MEMORY, or the spool's. */
int nb_results_begin(struct nb_results *results, struct nb_request *request,
                     enum nb_results_form form, struct nb_error *error);

/* Sets *most to the query parameter `top`, 0 if it was not given. NB_INVALID names its range. */
int nb_results_top(const struct nb_request *request, size_t *most, struct nb_error *error);

/* `decision` may be NULL: none was asked for. */
int nb_results_verdict(struct nb_results *results, const struct nb_verdict *verdict,
                       const struct nb_json_decision *decision, struct nb_error *error);
int nb_results_tokens(struct nb_results *results, const struct nb_bag *bag, struct nb_error *error);

/* A receipt with a code is a failure. */
int nb_results_receipt(struct nb_results *results, const struct nb_receipt *receipt,
                       struct nb_error *error);
int nb_results_error(struct nb_results *results, const struct nb_error *why,
                     struct nb_error *error);

/* For a batch with one result for each of several models: the failure names its model. */
int nb_results_model_error(struct nb_results *results, const struct nb_error *why,
                           struct nb_error *error);

/* Returns whether a line of the reply was written: from then on failures are reported line by line.
 */
bool nb_results_has_lines(const struct nb_results *results);

/* The common verdict of several models. */
struct nb_results_common {
    const char *rule;       /* by which it follows from the verdicts of the models */
    struct nb_string model; /* that gave the verdict */
    const char *label;      /* NULL: they do not agree; then model and probability are left out */
    double probability;
    const char *action; /* of the mail filter; NULL: a model has no label of spam */
    const struct nb_json_decision *decision; /* NULL: none was asked for */
};
/* Ends a batch of results of several models. `common` is NULL when no model gave a verdict. */
int nb_results_end_common(struct nb_results *results, const struct nb_results_common *common,
                          struct nb_error *error);

/* Ends the reply. A batch's totals are learned, unchanged, relabelled and updated for a train,
 * forgotten for an untrain, none for other verbs. */
int nb_results_end(struct nb_results *results, struct nb_error *error);

#endif
