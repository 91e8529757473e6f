/* SPDX-License-Identifier: Apache-2.0
 *
 * Drift: whether the verdicts of late are spread otherwise than those before them. Nobody needs to
 * know a true label for it, so it is seen before the accuracy is. It says that something has
 * changed (what comes in, or what the model was taught), not that verdicts are wrong.
 *
 * The test is that of Kolmogorov and Smirnov for two samples: the greatest distance D between the
 * shares of scores up to a value, and the probability p that two samples of one distribution are at
 * least as far apart (Smirnov 1948, with the approximation for finite samples of Stephens 1970, as
 * in Press et al. 2007, section 14.3.3). Scores are log-odds in 32 bins, so that a model needs 700
 * bytes; D can only become less by that, and p greater. Verdicts that follow each other are mostly
 * not independent (a campaign sends many like mails): so D tells more than p.
 *
 * Any thread.
 */
#ifndef NB_CORE_MODEL_EVALUATE_DRIFT_H
#define NB_CORE_MODEL_EVALUATE_DRIFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    NB_DRIFT_RECENT = 1000, /* verdicts of late */
    NB_DRIFT_BEFORE = 4000  /* before them, at most; as many as are late at least */
};

struct nb_drift;

/* NULL: out of memory. */
struct nb_drift *nb_drift_new(void);
void nb_drift_free(struct nb_drift **drift);
/* Takes a verdict's probability, of the same label each time or of the one that wins. `kind` says
 * which of these, and of how many labels: with another kind, all that came before is forgotten. */
void nb_drift_add(struct nb_drift *drift, uint32_t kind, double probability);
/* Forgets everything. */
void nb_drift_reset(struct nb_drift *drift);

struct nb_drift_figures {
    uint64_t recent, before; /* verdicts that were compared */
    double distance;         /* D, 0 to 1 */
    double p;
};
/* Compares; false, with *figures untouched: there are too few verdicts. */
bool nb_drift_compare(struct nb_drift *drift, struct nb_drift_figures *figures);

#endif
