/* SPDX-License-Identifier: Apache-2.0
 *
 * Estimates of P(w|v): the factors of a document's likelihood, one for each word.
 * core/bayes/score.c has a faster way for plain estimates, which are always above 0 and have
 * one addend for all words. Pure functions; any thread.
 *
 * With a Dirichlet prior of the parameter a for each of |V| words, the estimate from n of N counts
 * is the mean of the posterior (n + a) / (N + a |V|), its mode (n + a - 1) / (N + (a - 1) |V|), or
 * without a prior the relative frequency n / N, the maximum of the likelihood (Murphy 2012,
 * Machine Learning, section 3.4). So each estimate is (n + b) / (N + b |V|) with its own addend b.
 * With a prior that differs by label or word, so does the addend (core/bayes/smoothing.h).
 */
#ifndef NB_CORE_BAYES_ESTIMATE_H
#define NB_CORE_BAYES_ESTIMATE_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/bayes/settings.h"
#include "core/counts/cells.h"

struct nb_shared_logs;

/* ---- logarithms of counts ----------------------------------------------------------------------
 *
 * A table of ln(i + addend) for small i: most counts are small, and a look-up is ten times as fast
 * as log().
 *
 * The logarithms are shared: all tables of a process that have the same addend and size read the
 * same memory, because most models have the same settings, and a daemon may hold 100,000 models. A
 * table is as large as the present counts need. Any number of threads may look up; one thread at a
 * time may init, grow or deinit a table.
 */

/* 512 KiB, if the counts are that large. A feature that several labels share reads the logarithms
 * of small counts, and of some near the number of its documents. */
enum { NB_LOG_TABLE_MOST = 65536 };

struct nb_log_table {
    const double *logs; /* of `shared`; never empty after nb_log_table_init */
    uint32_t size;      /* of `logs` */
    double addend;
    struct nb_shared_logs *shared; /* counted reference; NULL before init and after deinit */
};

/* Returns 0 or NB_NO_MEMORY; deinit either way. */
int nb_log_table_init(struct nb_log_table *table, double addend);
void nb_log_table_deinit(struct nb_log_table *table);

/* Grows the table to hold the counts up to `greatest`, at most NB_LOG_TABLE_MOST of them. No thread
 * may look up meanwhile. Returns 0, or NB_NO_MEMORY with the table unchanged. */
int nb_log_table_grow(struct nb_log_table *table, uint64_t greatest);

/* Returns ln(count + addend): the same bits, whether from the table or from log(). */
static inline double nb_log_table_at(const struct nb_log_table *table, uint64_t count)
{
    return count < table->size ? table->logs[count] : log((double)count + table->addend);
}

/* Bytes of all logarithms in the process; shared ones count once. Any thread. */
size_t nb_log_tables_memory(void);

/* ---- estimates ---------------------------------------------------------------------------------
 *
 * Likelihoods of counts whose probabilities are integrated out. With a Dirichlet prior of
 * parameters a_w, which sum to A, and counts n_w, which sum to N, the probability of further counts
 * c_w, which sum to C, in a given order, is (Murphy 2012, Machine Learning, section 3.4; the urn of
 * Polya)
 *
 *     product of Gamma(n_w + a_w + c_w) / Gamma(n_w + a_w)  over  Gamma(N + A + C) / Gamma(N + A)
 *
 * so the second occurrence of a word is more probable than the first. Pure functions; any thread.
 */

/* Returns ln of Gamma(x + n) / Gamma(x) = x (x + 1) ... (x + n - 1) for x above 0, with an error of
 * 1e-13 or n 1e-15, whichever is more. The time does not depend on n. */
double nb_log_rising(double x, uint64_t n);

/* A factor of a likelihood: an estimate, or the quotient of two estimates, either of which may be
 * 0. */
struct nb_factor {
    double log;            /* ln of the factor, with an estimate of 0 taken as 1 */
    bool is_zero, is_pole; /* the estimate in the numerator, or denominator, is 0 */
};

/* ln of the product of the non-zero factors, and the number of zeros minus the number of poles. */
struct nb_log_product {
    double log;
    int64_t zeros;
};

/* Returns b, which an estimate adds to counts, for a prior with the parameter a = `smoothing`. It
 * is at least 0 for settings that pass nb_settings_check. */
double nb_estimate_addend(enum nb_estimate estimate, double smoothing);

/* Addends of a word: to the count of documents that have it (or of its occurrences), and with the
 * Bernoulli model to the count of documents that do not. */
struct nb_addends {
    double present, absent;
};

/* Whether one number above 0 is added to the counts of all words, no estimate of a value is 0, and
 * nothing is integrated out: then scores need none of these functions. */
bool nb_estimate_is_plain(const struct nb_settings *settings);
/* Whether the addends differ by word: those of nb_estimate_addends_of_share. */
bool nb_estimate_is_by_word(const struct nb_settings *settings);
/* The addends of a label, for all words of a vocabulary of this size. */
struct nb_addends nb_estimate_addends(const struct nb_settings *settings, const char *label,
                                      uint64_t vocabulary);
/* The m-estimate: the addends of a word with this share of all counts, or of all documents. */
struct nb_addends nb_estimate_addends_of_share(double m, double share);
/* Returns the addend of the denominators: the sum over all words, or with the Bernoulli model the
 * sum of both addends. */
double nb_estimate_added(const struct nb_settings *settings, struct nb_addends addends,
                         uint64_t vocabulary);

/* Returns the factor of a word in the likelihood of a label with `documents` documents; `cell` has
 * the word's counts there. Multinomial: (n + b) to the power `count`. Binary: d + b. Complement: 1
 * / (all - n + b) to the power `count`, where `all` are the occurrences in all labels; all - n + b
 * is never 0 (nb_settings_check). The factor leaves out denominators, which are the same for all
 * words. Bernoulli: (d + b) / (documents - d + b'), the estimate of having the word over that of
 * not having it, both with the denominator documents + b + b'. */
struct nb_factor nb_estimate_word(enum nb_event_model event_model, struct nb_addends addends,
                                  uint64_t documents, uint64_t all, struct nb_cell cell,
                                  uint32_t count);

/* The counts of a word for a label: not integers if documents count by shares. */
struct nb_word_counts {
    double occurrences, documents; /* n_wv and d_wv */
    double all;                    /* occurrences in all labels */
    double of;                     /* number of documents of the label */
};
/* As nb_estimate_word, from these counts. */
struct nb_factor nb_estimate_counted(enum nb_event_model event_model, struct nb_addends addends,
                                     const struct nb_word_counts *counts, uint32_t count);
/* Documents of a label without a word. A difference within the rounding error counts as 0. */
double nb_estimate_absent(double documents, double having);

static inline void nb_log_product_add(struct nb_log_product *p, struct nb_factor f)
{
    p->log += f.log;
    p->zeros += (int)f.is_zero - (int)f.is_pole;
}

/* Returns ln of the product; -infinity when a factor is 0. */
double nb_log_product_value(struct nb_log_product p);

/* Returns what a factor, `first` for one label and `second` for another, adds to ln(P(first) /
 * P(second)): infinite if the factor is 0 for only one label, 0 if it is 0 for both. If both
 * likelihoods are above 0, these numbers are finite and sum to the difference of the log scores. */
double nb_factor_evidence(struct nb_factor first, struct nb_factor second);
/* As nb_factor_evidence, from two logarithms, either of which may be -infinity. */
double nb_log_evidence(double first, double second);

#endif
