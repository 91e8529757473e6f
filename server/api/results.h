/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes the reply to a request about documents: one result, {"results": [...]} with totals, or one
 * result per line. For the thread that works on the request; the results belong to it.
 */
#ifndef NB_SERVER_API_RESULTS_H
#define NB_SERVER_API_RESULTS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/engine/engine.h"

struct nb_request;

/* A decision about a document. */
struct nb_json_decision {
    const char *label; /* a label, "unsure" or "none" */
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
    struct nb_string model;    /* model of the next result; at first the request's model */
    struct nb_buffer id;       /* owned: id of the document to keep in the history; else empty */
    bool is_kept;              /* the history has kept this document's verdict */
    bool has_counts;           /* verdicts show the documents of each label */
    bool has_word_counts;      /* explanations show the counts of their tokens */
    size_t top;                /* most labels that a verdict lists; 0: all */
    const char *warning;       /* about how the next document was read; NULL: none */
    const char *table_warning; /* about how the CSV table was read, for all results; NULL: none */
    uint64_t size;             /* results written so far */
    uint64_t totals[NB_STATUSES]; /* receipts, by enum nb_status */
    uint64_t failed;
    bool created;    /* a change has created its model */
    uint64_t merged; /* texts without an id that are the same document as one before */
};

/* Every function returns 0, or a code that fails the request: NB_NO_MEMORY or a code of the
 * spool. */
int nb_results_begin(struct nb_results *results, struct nb_request *request,
                     enum nb_results_form form, struct nb_error *error);

/* Sets *most to the query parameter `top`, or to 0 without it. Returns 0, or NB_INVALID with the
 * allowed range. */
int nb_results_top(const struct nb_request *request, size_t *most, struct nb_error *error);

/* `decision` is NULL if the request asks for none. */
int nb_results_verdict(struct nb_results *results, const struct nb_verdict *verdict,
                       const struct nb_json_decision *decision, struct nb_error *error);
int nb_results_tokens(struct nb_results *results, const struct nb_bag *bag, struct nb_error *error);

/* Writes a receipt; one with a code counts as a failure. */
int nb_results_receipt(struct nb_results *results, const struct nb_receipt *receipt,
                       struct nb_error *error);
int nb_results_error(struct nb_results *results, const struct nb_error *why,
                     struct nb_error *error);

/* For a batch with one result per model: writes a failure together with the name of its model. */
int nb_results_model_error(struct nb_results *results, const struct nb_error *why,
                           struct nb_error *error);

/* Returns whether a line of the reply was written: from then on failures are reported line by line.
 */
bool nb_results_has_lines(const struct nb_results *results);

/* The common verdict of several models. */
struct nb_results_common {
    const char *rule;       /* how the common verdict follows from the models' verdicts */
    struct nb_string model; /* the model that gave the verdict */
    const char *label; /* NULL: the models do not agree; then model and probability are left out */
    double probability;
    const char *action; /* action of the mail filter; NULL: a model has no label of spam */
    const struct nb_json_decision *decision; /* NULL: the request asks for none */
};
/* Ends a batch of results of several models. `common` is NULL when no model gave a verdict. */
int nb_results_end_common(struct nb_results *results, const struct nb_results_common *common,
                          struct nb_error *error);

/* Ends the reply. The totals of a batch are learned, unchanged, relabelled and updated for train,
 * and forgotten for untrain; other verbs have none. */
int nb_results_end(struct nb_results *results, struct nb_error *error);

#endif
