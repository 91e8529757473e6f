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
    struct nb_string model;    /* that the next result is of; at first the request's */
    struct nb_buffer id;       /* owned: of a document whose verdict was to be kept; else empty */
    bool is_kept;              /* ... and whether it is */
    bool has_counts;           /* verdicts have the documents of each label */
    bool has_word_counts;      /* tokens of explanations have their counts */
    size_t top;                /* verdicts have so many labels at most; 0: all */
    const char *warning;       /* of how the text of the next result was read; NULL: none */
    const char *table_warning; /* the same of a table: of all results */
    uint64_t size;             /* results so far */
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

/* A batch with a result of each of several models: the failure of one names it. */
int nb_results_model_error(struct nb_results *results, const struct nb_error *why,
                           struct nb_error *error);

/* Whether a line of the reply has been written: from then on failures are told line by line. */
bool nb_results_has_lines(const struct nb_results *results);

/* What several models say together. */
struct nb_results_common {
    const char *rule;       /* by which it follows from what each of them says */
    struct nb_string model; /* whose verdict it is */
    const char *label;      /* NULL: they do not agree, and probability and model are not told */
    double probability;
    const char *action;                      /* of the mail filter; NULL: it is no mail filter's */
    const struct nb_json_decision *decision; /* NULL: none was asked for */
};
/* Ends a batch of results of several models. `common` NULL: none gave a verdict. */
int nb_results_end_common(struct nb_results *results, const struct nb_results_common *common,
                          struct nb_error *error);

/* Ends the reply. A batch's totals are learned, unchanged, relabelled and updated for a train,
 * forgotten for an untrain, none for other verbs. */
int nb_results_end(struct nb_results *results, struct nb_error *error);

#endif
