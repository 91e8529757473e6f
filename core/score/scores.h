/* SPDX-License-Identifier: Apache-2.0
 *
 * The scores of a document: for every label a log score and a probability. Any thread; one struct
 * belongs to one thread, and is used for one document after another.
 */
#ifndef NB_CORE_SCORE_SCORES_H
#define NB_CORE_SCORE_SCORES_H

#include <stddef.h>
#include <stdint.h>

struct nb_model;

struct nb_scores {
    size_t size;           /* labels that have documents, in the order of their names */
    uint32_t *labels;      /* label numbers; owned */
    double *log_scores;    /* ln P(v) + sum ln P(w|v); owned */
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

/* ---- scores from few documents ----------------------------------------------------------------
 *
 * Weights that are right on average say nothing of how far the counts of few documents are off. So
 * the scores of the stack are pulled towards each other, to even odds, the more the fewer documents
 * the labels have and the surer the scores are:
 *
 *     s'_v = s_v / sqrt(1 + 0.1 d a^2)      a = s_best - s_second      d = sum of q_v / D_v
 *
 * q_v is 1 with two labels, else 2 P(v), so that a label which is unlikely, and has few documents,
 * does not pull the others. This is the moderated output of MacKay (1992, The Evidence Framework
 * Applied to Classification Networks, equation 10) where the standard deviation of a is half of a
 * sqrt(d): that of the logarithm of an odds ratio is sqrt(d) (Woolf 1955, with D_v for the cells).
 * With three documents of each of two labels no probability is above .98, with ten none above
 * .9992, with a hundred none above 1 - 10^-9.
 */

/* What a label of so many documents (at least 1), with the probability P(v), adds to d. */
double nb_scores_doubt(size_t labels, double probability, uint64_t documents);
/* By what scores are multiplied whose best and second are `difference` apart; above 0, at most 1.
 */
double nb_scores_moderation(double difference, double doubt);
/* Multiplies the log scores, which were ranked, by that, and ranks them. Returns it. */
double nb_scores_moderate(struct nb_scores *scores, double doubt);
/* The same of scores of a model, whose labels have numbers there. With the label of a document that
 * the counts have, for `without` (else NB_LABELS_NONE): without that document. */
#define NB_LABELS_NONE UINT32_MAX
double nb_scores_moderate_by(struct nb_scores *scores, const struct nb_model *model,
                             uint32_t without);

#endif
