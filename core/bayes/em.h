/* SPDX-License-Identifier: Apache-2.0
 *
 * Label probabilities of documents without a label: multinomial naive Bayes, learned from labelled
 * and unlabelled documents together by EM (Nigam, McCallum, Thrun and Mitchell 2000, "Text
 * Classification from Labeled and Unlabeled Documents using EM", sections 4 and 5.3.1, where each
 * unlabelled document weighs lambda):
 *
 *     E   r_dv = pi_v * product over the words of d of theta_vw ^ (beta n_dw), divided by its sum
 *     M   theta_vw = (n_wv + s + lambda sum_d r_dv n_dw) / its sum over the words
 *
 * The first E step uses the counts of labelled documents alone. With beta = 1 no step decreases
 *
 *     lambda sum_d ln P(d) + sum_wv (n_wv + s) ln theta_vw
 *
 * the logarithm of the likelihood of all documents, with a Dirichlet prior; an assertion checks
 * this. beta begins at .02 and is multiplied by 1.35 in each step, up to 1 (deterministic annealing
 * EM, Ueda and Nakano 1998). s is small and used by EM only, and pi is not fitted. Measured on 20
 * Newsgroups with 5 labelled documents of each group and 11,214 unlabelled ones, lambda = 1,
 * presence of words, final estimates with smoothing .1; percentage of 2,000 other documents that
 * are classified correctly (without EM 13.7):
 *
 *     s = .001, .003, .01, .1         60.1, 58.5, 58.0, 38.1
 *     s = .01, from beta = 1          42.3    from .01: 50.8, from .05: 57.3
 *     s = .01, pi from the documents  49.4
 *     s = .01, counts                 51.3    from beta = 1, s = .1: 7.1 (one label wins
 * everywhere)
 *
 * With fields (core/base/attribute.h) words form groups: the words of the document itself, and the
 * values or words of each field. A label has a theta over the words of each group, and P(d|v) is
 * the product over the groups. Numbers have a Gaussian for each field and label (struct
 * nb_em_numbers).
 *
 * Pure functions of their arguments. Any thread.
 */
#ifndef NB_CORE_BAYES_EM_H
#define NB_CORE_BAYES_EM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/number.h"

/* Count, mean and variance of numbers that may weigh less than one each, unlike those of struct
 * nb_moments (core/base/number.h), which are exact. Pure functions; any thread. */
struct nb_normal {
    double count, mean, variance; /* count: the sum of the weights */
    uint64_t documents;           /* how many numbers there are, regardless of weight */
};

/* Converts `moments`; each number gets `weight`, which is above 0. */
static inline struct nb_normal nb_normal_of(const struct nb_moments *moments, double weight)
{
    return (struct nb_normal){.count = weight * (double)moments->count,
                              .mean = nb_moments_mean(moments),
                              .variance = nb_moments_variance(moments),
                              .documents = moments->count};
}

/* Merges both, without the cancellation that sums of squares would suffer. */
static inline struct nb_normal nb_normal_merge(struct nb_normal a, struct nb_normal b)
{
    if (!(a.count > 0) || !(b.count > 0))
        return a.count > 0 ? a : b;
    double count = a.count + b.count, share = b.count / count, far = b.mean - a.mean;
    return (struct nb_normal){.count = count,
                              .mean = a.mean + share * far,
                              .variance = a.variance + share * (b.variance - a.variance) +
                                          share * (1 - share) * far * far,
                              .documents = a.documents + b.documents};
}

/* Numbers in EM: one Gaussian for each field and label. The N numbers of a label are those of
 * labelled documents, plus those of other documents weighted by lambda and share. Numbers are
 * distances from the mean of all, in standard deviations, so the variance of all is 1. The prior
 * counts like one more document with that variance:
 *
 *     mu = sum x / (N + s)          sigma^2 = (1 + sum (x - mu)^2 + s mu^2) / (N + 1)
 *
 * This is the mode of a normal-inverse-gamma posterior (Fraley and Raftery 2007, with s as kappa),
 * so no variance is 0, and a label without numbers has the mean and variance of all. Missing values
 * are skipped. The functions are for core/bayes alone. */

/* The documents' numbers: distances from the mean of all in standard deviations; all borrowed. */
struct nb_em_numbers {
    uint32_t count;                   /* of fields; above 0 */
    const double *values;             /* of field g, at d * count + g; NAN: the document has none */
    const struct nb_normal *labelled; /* of labelled documents, at g * labels + v */
};

struct nb_em_gaussian {
    double mean, variance, log_height;
    double members, sum, squares; /* over unlabelled documents: weights, distances, their squares */
};

struct nb_em_gaussians {
    const struct nb_em_numbers *numbers; /* borrowed */
    uint32_t count, labels;              /* count: of fields; 0 without numbers */
    double weight, smoothing;            /* lambda and s */
    struct nb_em_gaussian *list;         /* owned; at g * labels + v; NULL: there are no numbers */
};

/* Documents as a sparse matrix; all borrowed. The columns of document d are columns[i], begin[d] <=
 * i < end[d], each once. Those with i < middle[d] are the words that EM uses. */
struct nb_em_documents {
    size_t count;
    const size_t *begin, *middle, *end;
    const uint32_t *columns; /* words are below nb_em_question.words */
    const uint32_t *counts;  /* occurrences, above 0 */
};

struct nb_em_question {
    const struct nb_em_documents *documents; /* without a label; at least one */
    uint32_t words, labels;                  /* labels above 0 */
    const double *counts;   /* n_wv of labelled documents, at w * labels + v; 0 or above */
    const double *shares;   /* pi_v; above 0, not normalized */
    const uint32_t *groups; /* of each word, below group_count; NULL: all are in one */
    uint32_t group_count;   /* if `groups` is not NULL; above 0 */
    const struct nb_em_numbers *numbers; /* NULL: there are none */
    bool is_binary;           /* count documents with a word instead of its occurrences */
    double weight, smoothing; /* lambda and s, both above 0 */
    unsigned iterations_most; /* at least 1 */
    bool (*stop)(void *user); /* asked in each iteration; NULL: never */
    void *user;
};

/* The labels of document d are labels[i] with r = shares[i], begin[d] <= i < begin[d + 1]. Shares
 * below a thousandth are left out, and the others normalized. All owned. */
struct nb_em {
    size_t count;
    size_t *begin; /* count + 1 */
    uint32_t *labels;
    double *shares;
    double log_likelihood, first; /* the objective at the end, and first with beta = 1 */
    unsigned iterations;          /* E steps */
};
void nb_em_deinit(struct nb_em *em);

/* Fits until a step with beta = 1 increases the objective by less than a millionth. On success the
 * caller deinits *em. Returns 0, NB_STOPPING or NB_NO_MEMORY. */
int nb_em_fit(const struct nb_em_question *question, struct nb_em *em);

/* Sets *em for documents whose labels are known: labels[d] with share 1. The labels are copied. On
 * success the caller deinits *em. Returns 0 or NB_NO_MEMORY. */
int nb_em_given(const uint32_t *labels, size_t count, struct nb_em *em);

/* Replaces logarithms by the shares of their numbers. Returns ln of the sum of the numbers. */
double nb_em_normalize(double *logarithms, uint32_t count);

#endif
