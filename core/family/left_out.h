/* SPDX-License-Identifier: Apache-2.0
 *
 * Leave-one-out scores of documents that a model has learned: what it says of each from the counts
 * of all others, and with a twin that the document has not taught. With the twin as it is, these
 * would flatter: so it is made once more. The documents of a sample come in random order, each is
 * scored, and then it teaches. Of a model with a parent, the family's score is taken.
 */
#ifndef NB_CORE_FAMILY_LEFT_OUT_H
#define NB_CORE_FAMILY_LEFT_OUT_H

#include "core/live/live.h"

struct nb_engine;

/* A score in its stored form (core/live/stored_score.h). Not 0: no more are wanted. */
typedef int nb_left_out_visit(void *user, struct nb_string stored, struct nb_error *error);

/* Scores a sample of the documents of a model that is loaded, and to which the caller has a
 * reference, and then calls `visit` for each score, the oldest document first. The sample is the
 * same as long as the documents are: 5,000 at most, and fewer with many `labels`, of which so many
 * have documents. A second or two; the model goes on learning meanwhile, and what is forgotten is
 * passed over. Returns 0, what `visit` returned, NB_CONFLICT (the model is not stacked, or its
 * parent is gone), or what reading the store and loading a parent can return. */
int nb_left_out_scores(struct nb_engine *engine, struct nb_live *live, size_t labels,
                       nb_left_out_visit *visit, void *user, struct nb_error *error);

#endif
