/* SPDX-License-Identifier: Apache-2.0
 *
 * Fits of models whose documents have several labels (core/stack/multilabel.h): the linear machine
 * of each label, the slope and the biases that make probabilities of its scores, and a threshold
 * for each label, chosen on leave-one-out scores of all documents; with the figures of these
 * scores, which are the model's evaluation.
 *
 * A fit is made on any thread from arrays of its own, reads the counts under the model's read lock
 * a few documents at a time, and is immutable afterwards, shared by reference count.
 */
#ifndef NB_CORE_STACK_MULTILABEL_FIT_H
#define NB_CORE_STACK_MULTILABEL_FIT_H

#include "core/bayes/settings.h"
#include "core/stack/multilabel.h"

/* The documents of a fit, in an order that depends on them alone. */
struct nb_multilabel_corpus {
    size_t count;
    const uint64_t
        *numbers;         /* a number of each, for nb_multilabel_suspect; NULL: none are listed */
    const uint32_t *sets; /* the model's label number of each */
    const size_t *begin, *end; /* of the features of each, in both lists below */
    const uint32_t *rows, *counts;
    int optimize;                       /* enum nb_optimize: what thresholds are chosen for */
    double precision, cost_fp, cost_fn; /* as in struct nb_settings */
    bool is_by_the_book;
    bool (*stop)(void *user); /* true: the fit ends; NULL: never */
    void *user;
};

enum {
    NB_MULTILABEL_SCORES_MOST = 48 * 1024 * 1024, /* documents times labels: 200 MB */
};

/* Makes a fit; the caller gets one reference. Returns 0, NB_CONFLICT (no label has a document),
 * NB_TOO_LARGE (NB_MULTILABEL_SCORES_MOST), NB_STOPPING or NB_NO_MEMORY. */
int nb_multilabel_fit_new(struct nb_multilabel *multilabel, const struct nb_model *model,
                          const struct nb_multilabel_corpus *corpus,
                          struct nb_multilabel_fit **fit);

#endif
