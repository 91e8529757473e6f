/* SPDX-License-Identifier: Apache-2.0
 *
 * Leave-one-out scores of a model by the book: what its formulas say now of documents that it has
 * learned, each with its own counts taken out (core/writer/recalibrate/book_scores.h). The writer
 * takes them out and puts them back, a millisecond's documents at a time between its other work.
 * Any thread but the writer's.
 */
#ifndef NB_CORE_ENGINE_BOOK_LEFT_OUT_H
#define NB_CORE_ENGINE_BOOK_LEFT_OUT_H

#include "core/model/parents/left_out.h"

/* As nb_left_out_scores (core/model/parents/left_out.h), of a model whose decision is "bayes", and
 * of the same number of documents; fewer where each score is a walk over the vocabulary. A model
 * that is calibrated is scored by maps that were fitted without the document. Returns 0, what
 * `visit` returned, NB_CONFLICT (the model is not by the book, or has a parent, or no document, or
 * changes its settings again and again), NB_NOT_FOUND (it was deleted meanwhile), NB_STOPPING,
 * NB_NO_MEMORY or what reading the store can return. */
int nb_book_left_out_scores(struct nb_engine *engine, struct nb_live *live,
                            nb_left_out_visit *visit, void *user, struct nb_error *error);

#endif
