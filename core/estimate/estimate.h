/* SPDX-License-Identifier: Apache-2.0
 *
 * Estimates of P(w|v) that may be 0: the factors of a document's likelihood, one for each word.
 * core/score has a faster way for the estimates that are always above 0. Pure functions; any
 * thread.
 *
 * With a Dirichlet prior of the parameter a for each of |V| words, the estimate from n of N counts
 * is the mean of the posterior (n + a) / (N + a |V|), its mode (n + a - 1) / (N + (a - 1) |V|), or
 * without a prior the relative frequency n / N, which makes what was seen most likely (Murphy 2012,
 * Machine Learning, section 3.4). So each is (n + b) / (N + b |V|) for an addend b of its own.
 */
#ifndef NB_CORE_ESTIMATE_ESTIMATE_H
#define NB_CORE_ESTIMATE_ESTIMATE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/model/cell.h"
#include "core/model/settings.h"

/* A factor of a likelihood: an estimate, or a fraction of two of which either may be 0. */
struct nb_factor {
    double log;            /* ln of it, where an estimate that is 0 is taken as 1 */
    bool is_zero, is_pole; /* the estimate above, or below, is 0 */
};

/* ln of a product of factors: of those that are not 0, and how many more are 0 than poles. */
struct nb_log_product {
    double log;
    int64_t zeros;
};

/* What an estimate adds to counts (b), for a prior of this parameter a: at least 0 when
 * nb_settings_check has no objection. */
double nb_estimate_addend(enum nb_estimate estimate, double smoothing);

/* Whether no estimate can be 0, so that core/score needs nothing of this. */
bool nb_estimate_is_plain(const struct nb_settings *settings);

/* The factor that a word brings to the likelihood of a label with so many documents, of which
 * `cell` has the counts of the word: (n + b) to the power `count` with the multinomial model, d + b
 * with the binary one. The denominators are the same for all words and not in it. With the
 * Bernoulli model it is (d + b) / (documents - d + b), both over documents + 2b: what having the
 * word is worth over not having it. The complement model has none: its settings are plain. */
struct nb_factor nb_estimate_word(enum nb_event_model event_model, double addend,
                                  uint64_t documents, struct nb_cell cell, uint32_t count);

static inline void nb_log_product_add(struct nb_log_product *p, struct nb_factor f)
{
    p->log += f.log;
    p->zeros += (int)f.is_zero - (int)f.is_pole;
}

/* -infinity when a factor is 0. */
double nb_log_product_value(struct nb_log_product p);

/* What a factor that is `first` for one label and `second` for another adds to ln(P(first) /
 * P(second)): infinite when it is 0 for one of them only, and nothing when it is for both. Where
 * both likelihoods are above 0 these numbers are finite and sum to the difference of the log
 * scores. */
double nb_factor_evidence(struct nb_factor first, struct nb_factor second);
/* The same of two logarithms, either of which may be -infinity. */
double nb_log_evidence(double first, double second);

#endif
