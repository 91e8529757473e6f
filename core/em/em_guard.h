/* SPDX-License-Identifier: Apache-2.0
 *
 * Chooses the weight of documents without a label by cross-validation, so that they do no harm. A
 * sample of the documents with a label is cut into folds. For each fold, EM runs without its
 * documents, and they are scored by the counts without them plus the counts that EM expects
 * (core/stack/blend.h). Up to 50 documents are each a fold of their own (leave-one-out), more are
 * cut into ten folds. If EM over all folds would take longer than some seconds, there are fewer
 * folds, but at least three. For core/em alone.
 *
 * By the book, log scores are far too large, and grow with the number of documents, so that -ln P
 * would measure their size and not whether they are right. Therefore each loss is that of P from t
 * times the log scores, at the t that makes the loss smallest (one t for all documents: temperature
 * scaling, Guo, Pleiss, Sun and Weinberger 2017). In a stacked model P is calibrated. Its scores
 * with expected counts do not replace the scores without: the two are pooled (em_guard_choice.h).
 * Then the guard compares the loss of the verdicts without expected counts with the loss of the
 * pools, each pool fitted to the other folds.
 *
 * A weight above 0 is chosen only if it helps (losses.h). Of several weights that help, the one
 * with the smallest loss is chosen.
 */
#ifndef NB_CORE_EM_EM_GUARD_H
#define NB_CORE_EM_EM_GUARD_H

#include "core/em/em_numbers.h"
#include "core/model/refined/refined.h"

enum { NB_GUARD_SAMPLE = 500 }; /* documents of the corpus' sample */

struct nb_guard {
    const struct nb_corpus *corpus;
    const struct nb_document_numbers *numbers; /* of the corpus */
    struct nb_parent_chain *chain;             /* of the model */
    const struct nb_published *published;
    struct nb_em_question em; /* all but weight, smoothing and iterations */
    bool (*stop)(void *user); /* NULL: never */
    void *user;
    void (*step)(void *user, unsigned done, unsigned all); /* called after each fit */
};

/* Sets weight, smoothing, is_pooled, share, temperature, measured, folds, without and with of
 * *refined. If the setting unlabelled_weight is a number, that is the weight. With too few
 * documents to measure, `measured` is 0, a weight that would be chosen is 0, and the share of a
 * pool is one half. Returns 0, NB_STOPPING or NB_NO_MEMORY. */
int nb_guard_choose(const struct nb_guard *guard, struct nb_refined *refined);

#endif
