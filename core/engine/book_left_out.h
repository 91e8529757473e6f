/* SPDX-License-Identifier: Apache-2.0
 *
 * Leave-one-out scores of a model by the book: its present formulas score documents that it has
 * learned, each with its own counts taken out (core/writer/recalibrate/book_scores.h). The writer
 * takes the counts out and puts them back, between its other work, for a millisecond at a time. Any
 * thread but the writer's.
 */
#ifndef NB_CORE_ENGINE_BOOK_LEFT_OUT_H
#define NB_CORE_ENGINE_BOOK_LEFT_OUT_H

#include "core/model/parents/left_out.h"

/* As nb_left_out_scores (core/model/parents/left_out.h), for a model whose decision is "bayes".
 * Scores the same number of documents, or fewer where each score is a walk over the vocabulary. If
 * the model is calibrated, each document is scored by a map that was fitted without it. Returns 0,
 * what `visit` returned, NB_CONFLICT (the model is not by the book, or has a parent, or no
 * document, or changes its settings again and again), NB_NOT_FOUND (it was deleted meanwhile),
 * NB_STOPPING, NB_NO_MEMORY or what reading the store can return. */
int nb_book_left_out_scores(struct nb_engine *engine, struct nb_live *live,
                            nb_left_out_visit *visit, void *user, struct nb_error *error);

#endif
