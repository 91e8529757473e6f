/* SPDX-License-Identifier: Apache-2.0
 *
 * The scores of a document: for every label a log score and a probability. Any thread; one struct
 * belongs to one thread, and is used for one document after another.
 */
#ifndef NB_CORE_SCORE_SCORES_H
#define NB_CORE_SCORE_SCORES_H

#include <stddef.h>
#include <stdint.h>

struct nb_scores {
    size_t size;           /* labels that have documents, in the order of their names */
    uint32_t *labels;      /* label numbers; owned */
    double *log_scores;    /* ln P(v) + sum ln P(w|v), -INFINITY where one is 0; owned */
    double *probabilities; /* their soft-max (log-sum-exp); owned */
    size_t best;           /* index of the winner: highest score, ties to the first by name */
    size_t second;         /* index of the runner-up; == best when there is only one label */
    uint64_t total;        /* token positions of the document */
    uint64_t known;        /* those whose token is in the (used) vocabulary */
    size_t room;           /* private: capacity of the arrays */
};
void nb_scores_init(struct nb_scores *scores);
void nb_scores_deinit(struct nb_scores *scores);

/* Makes room for `size` labels; what was there is lost. Returns 0 or NB_NO_MEMORY. */
int nb_scores_grow(struct nb_scores *scores, size_t size);
/* Winner, runner-up and probabilities from the `size` log scores, at least one. */
void nb_scores_rank(struct nb_scores *scores);

#endif
