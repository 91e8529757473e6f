/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NB_CORE_ENGINE_ENGINE_EVALUATION_H
#define NB_CORE_ENGINE_ENGINE_EVALUATION_H

#include "core/ledger/change.h"
#include "core/model/live.h"
#include "core/store/store.h"

struct nb_engine;

/* ---- stacked models -------------------------------------------------------------------------- */

/* Leave-one-out scores of documents that a model has learned: each document is scored with its own
 * counts taken out, and with a twin that has not learned it. The model's own twin has learned all
 * of them and would make the scores too good. If the model has a parent, the scores are those of
 * both together.
 *
 * A new twin goes through the documents in random order: it scores each and then learns it. In a
 * second round another new twin goes the other way, so that a document which one twin scores while
 * it knows little is scored late by the other; this twin does not learn documents whose label the
 * first round gives less than .1, so that wrong labels do not teach it. */

struct nb_left_out_options {
    uint64_t documents_most;  /* a random sample of so many documents, if the model has more ... */
    uint64_t scores_most;     /* ... or of fewer: documents times labels */
    unsigned rounds;          /* 1 or 2 */
    bool (*stop)(void *user); /* asked now and then; NULL: never */
    void *user;
};

/* A document and what the model without it says; borrowed for the call. */
struct nb_left_out {
    uint64_t number; /* of its entry */
    uint32_t turn;   /* its place among the documents, the same in each round */
    uint32_t label;
    const struct nb_scores *scores;
};
/* Takes a document. Returns non-zero to stop. */
typedef int nb_left_out_visit(void *user, const struct nb_left_out *document,
                              struct nb_error *error);

/* Scores the documents of a stacked model that is loaded, and to which the caller has a reference.
 * `labels`: how many labels have documents. The sample and the order depend on the documents
 * alone. A document takes 100 us with two labels and 300 us with twenty in each round; the
 * model goes on learning meanwhile, and documents that are forgotten are skipped, as is the only
 * document of a label. Returns 0, what `visit` returned, NB_CONFLICT (the model is not stacked, or
 * its parent is gone), NB_STOPPING, or a code from reading the store or loading a parent. */
int nb_left_out_walk(struct nb_engine *engine, struct nb_live *live, size_t labels,
                     const struct nb_left_out_options *options, nb_left_out_visit *visit,
                     void *user, struct nb_error *error);

/* ---- models by the book ---------------------------------------------------------------------- */

/* Leave-one-out scores of a model by the book: its present formulas score documents that it has
 * learned, each with its own counts taken out (core/writer/recalibrate.h). The writer
 * takes the counts out and puts them back, between its other work, for a millisecond at a time. Any
 * thread but the writer's. */

/* As nb_left_out_walk, for a model whose decision is "bayes", in one round. Scores fewer
 * documents where each score is a walk over the vocabulary. If the model is calibrated, each
 * document is scored by a map that was fitted without it. The documents are visited at the end, the
 * oldest first. Returns 0, what `visit` returned, NB_CONFLICT (the model is not by the book, or has
 * a parent, or no document, or changes its settings again and again), NB_NOT_FOUND (it was deleted
 * meanwhile), NB_STOPPING, NB_NO_MEMORY or what reading the store can return. */
int nb_book_left_out_walk(struct nb_engine *engine, struct nb_live *live,
                          const struct nb_left_out_options *options, nb_left_out_visit *visit,
                          void *user, struct nb_error *error);

/* ---- scores in their stored form (core/model/learner.h) -------------------------------------- */

/* Calls `visit` for each score before learning of the documents that a model has, in the order of
 * learning; the key ends with the number of the first learning. Returns as nb_store_scan. */
int nb_scores_before_learning(struct nb_engine *engine, const struct nb_live *live,
                              nb_store_visit *visit, void *user, struct nb_error *error);

/* Walks in one round over a sample of at most 5,000 documents of a model that is loaded, fewer if
 * there are many labels, and then calls `visit` for each score, the oldest document first, without
 * a key. Takes a second or two if the model is stacked. Any thread but the writer's. Returns as
 * nb_left_out_walk or nb_book_left_out_walk. */
int nb_scores_left_out(struct nb_engine *engine, struct nb_live *live, nb_store_visit *visit,
                       void *user, struct nb_error *error);

#endif
