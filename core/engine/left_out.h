/* SPDX-License-Identifier: Apache-2.0
 *
 * Leave-one-out scores of documents that a model has learned: each document is scored with its own
 * counts taken out, and with a twin that has not learned it. The model's own twin has learned all
 * of them and would make the scores too good. So a new twin goes through a sample of the documents
 * in random order: it scores each and then learns it. If the model has a parent, the scores are
 * those of both together.
 */
#ifndef NB_CORE_ENGINE_LEFT_OUT_H
#define NB_CORE_ENGINE_LEFT_OUT_H

#include "core/model/live/live.h"

struct nb_engine;

/* Takes a score in its stored form (core/model/learner.h). Returns non-zero to stop. */
typedef int nb_left_out_visit(void *user, struct nb_string stored, struct nb_error *error);

/* Scores a sample of the documents of a model that is loaded, and to which the caller has a
 * reference, and then calls `visit` for each score, the oldest document first. The sample depends
 * only on the documents: at most 5,000, fewer if many labels have documents (`labels` is the number
 * that do). Takes a second or two; the model goes on learning meanwhile, and documents that are
 * forgotten are skipped. Returns 0, what `visit` returned, NB_CONFLICT (the model is not stacked,
 * or its parent is gone), or a code from reading the store or loading a parent. */
int nb_left_out_scores(struct nb_engine *engine, struct nb_live *live, size_t labels,
                       nb_left_out_visit *visit, void *user, struct nb_error *error);

/* ---- models by the book ---------------------------------------------------------------------- */

/* Leave-one-out scores of a model by the book: its present formulas score documents that it has
 * learned, each with its own counts taken out (core/writer/book_scores.h). The writer
 * takes the counts out and puts them back, between its other work, for a millisecond at a time. Any
 * thread but the writer's. */

/* As nb_left_out_scores, for a model whose decision is "bayes".
 * Scores the same number of documents, or fewer where each score is a walk over the vocabulary. If
 * the model is calibrated, each document is scored by a map that was fitted without it. Returns 0,
 * what `visit` returned, NB_CONFLICT (the model is not by the book, or has a parent, or no
 * document, or changes its settings again and again), NB_NOT_FOUND (it was deleted meanwhile),
 * NB_STOPPING, NB_NO_MEMORY or what reading the store can return. */
int nb_book_left_out_scores(struct nb_engine *engine, struct nb_live *live,
                            nb_left_out_visit *visit, void *user, struct nb_error *error);

#endif
