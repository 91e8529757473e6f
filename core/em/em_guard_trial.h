/* SPDX-License-Identifier: Apache-2.0
 *
 * A trial of whether expected counts help (em_guard.h): the candidates, the folds of the documents
 * with a label, and room for their scores. For core/em/em_guard.c alone.
 */
#ifndef NB_CORE_EM_EM_GUARD_TRIAL_H
#define NB_CORE_EM_EM_GUARD_TRIAL_H

#include "core/bayes/scorer.h"
#include "core/em/em_numbers.h"
#include "core/model/live.h"
#include "core/stack/blend.h"

enum { NB_GUARD_SAMPLE = 500 }; /* documents of the corpus' sample */

struct nb_guard {
    const struct nb_corpus *corpus;
    const struct nb_document_numbers *numbers; /* numbers of the corpus */
    struct nb_parent_chain *chain;             /* chain of the model */
    const struct nb_published *published;
    struct nb_em_question em; /* all but weight, smoothing and iterations */
    bool (*stop)(void *user); /* NULL: never */
    void *user;
    void (*step)(void *user, unsigned done, unsigned all); /* called after each fit */
};

enum {
    NB_GUARD_CANDIDATES_MOST = 10,
    NB_GUARD_ITERATIONS = 14, /* iterations of EM in a fit of a fold */
};

/* Some documents of a part of the corpus. All arrays are owned. */
struct nb_guard_chosen {
    size_t count;
    size_t *begin, *middle, *end;
    uint32_t *labels;
};

struct nb_guard_candidate {
    double weight, smoothing;
};

struct nb_guard_trial {
    const struct nb_guard *guard;
    const struct nb_corpus *corpus;
    struct nb_stack_weights
        *weights; /* owned; with a new twin, which has learned nothing; NULL: by the book */
    struct nb_guard_chosen unlabelled;
    double *values; /* owned; numbers of these documents, as in struct nb_em_numbers */
    uint32_t fold_count;
    uint32_t *folds; /* owned; fold of each document with a label; fold_count: not measured */
    size_t *places;  /* owned; index of each such document in the scores */
    uint32_t *truths, *folds_of; /* owned; label and fold of each document that is measured */
    size_t measured;
    struct nb_guard_candidate candidates[NB_GUARD_CANDIDATES_MOST];
    unsigned count;
    double *scores; /* owned; [candidate][document][label], candidate 0: without expected counts */
    /* The current fold. */
    struct nb_guard_chosen fold;
    double *counts;              /* owned; counts of the corpus without the fold's documents */
    struct nb_normal *labelled;  /* owned; the same for numbers (core/em/em_numbers.h) */
    struct nb_expected *without; /* owned */
    struct nb_scorer *scorer;    /* owned; of the current candidate; NULL: the blend scores */
    /* One document, reused. */
    struct nb_blend blend;
    struct nb_feature *features; /* owned; room for the longest document */
    struct nb_scores said;
    unsigned done;
};

/* Lists the candidates of the guard's settings. */
void nb_guard_list_candidates(struct nb_guard_trial *t);
/* How many documents with a label are measured. */
size_t nb_guard_count_measured(const struct nb_guard_trial *t);
/* Chooses documents without a label, deals the documents with a label to folds, and makes room for
 * the scores. Returns 0 or NB_NO_MEMORY. */
int nb_guard_trial_begin(struct nb_guard_trial *t);
void nb_guard_trial_deinit(struct nb_guard_trial *t);

/* Scores the documents of a fold without their own counts: once with each candidate, and once
 * without expected counts. Returns 0 or a code of a fit or a score. */
int nb_guard_try_fold(struct nb_guard_trial *t, uint32_t fold);

#endif
