/* SPDX-License-Identifier: Apache-2.0
 *
 * How much documents without a label should weigh, so that they do no harm: by how well a sample of
 * the documents with a label is predicted by models that have not learned them. The sample is cut
 * into folds; of each fold, EM runs without its documents, and they are scored by the counts
 * without them and with what EM expects (core/blend). Up to 50 documents each is a fold of its own
 * (leave-one-out), more are ten folds; fewer folds, three at least, where EM over all of them would
 * take longer than some seconds. For core/unlabelled alone.
 *
 * By the book log scores are far too large, and larger with more documents: -ln P would tell how
 * large they are, and not how right. So losses are those of P made of t times the log scores, each
 * at the t at which it is least (one number for all: temperature scaling, Guo, Pleiss, Sun and
 * Weinberger 2017). In a stacked model P is to be believed, and what it says with expected counts
 * does not take the place of what it says without: both are pooled (pool.h), and the losses are
 * those of the verdicts without and of the pools, each fitted to the other folds.
 *
 * A weight above 0 is taken only if it helps (losses.h). Of those that do, the one with the least
 * loss is taken.
 */
#ifndef NB_CORE_UNLABELLED_GUARD_H
#define NB_CORE_UNLABELLED_GUARD_H

#include "core/refined/refined.h"
#include "core/unlabelled/corpus.h"

enum { NB_GUARD_SAMPLE = 500 }; /* documents of the corpus' sample */

struct nb_guard {
    const struct nb_corpus *corpus;
    struct nb_family *family; /* of the model */
    const struct nb_published *published;
    struct nb_em_question em; /* but for weight, smoothing and iterations */
    bool (*stop)(void *user); /* NULL: never */
    void *user;
    void (*step)(void *user, unsigned done, unsigned all); /* told of each fit */
};

/* Sets weight, smoothing, is_pooled, share, temperature, measured, folds, without and with of
 * *refined; with `weight` of the settings a number, weight is that. Too few documents to measure:
 * measured is 0, and a weight that is to be chosen, too; half of a pool is then with expected
 * counts. Returns 0, NB_STOPPING or NB_NO_MEMORY. */
int nb_guard_choose(const struct nb_guard *guard, struct nb_refined *refined);

#endif
