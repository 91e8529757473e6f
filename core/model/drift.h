/* SPDX-License-Identifier: Apache-2.0
 *
 * Drift: whether recent verdicts are distributed differently from those before them. The test needs
 * no true labels, so it shows a change before the accuracy does. It shows that something has
 * changed (the documents, or what the model has learned), not that verdicts are wrong.
 *
 * The test is that of Kolmogorov and Smirnov for two samples: the greatest distance D between the
 * shares of scores up to a value, and the probability p that two samples of one distribution are at
 * least as far apart (Smirnov 1948, with the approximation for finite samples of Stephens 1970, as
 * in Press et al. 2007, section 14.3.3). Scores are log-odds in 32 bins, so that a model needs 700
 * bytes; bins can only reduce D and raise p. Consecutive verdicts are mostly not independent (a
 * campaign sends many similar mails), so D is more reliable than p.
 *
 * Any thread.
 */
#ifndef NB_CORE_MODEL_DRIFT_H
#define NB_CORE_MODEL_DRIFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    NB_DRIFT_RECENT = 1000, /* recent verdicts */
    NB_DRIFT_BEFORE =
        4000 /* verdicts before them: at most this many, at least as many as recent ones */
};

struct nb_drift;

/* NULL: out of memory. */
struct nb_drift *nb_drift_new(void);
void nb_drift_free(struct nb_drift **drift);
/* Adds a verdict's probability, either of a fixed label or of the winner. `kind` encodes which of
 * the two, and the number of labels; a different kind discards all earlier verdicts. */
void nb_drift_add(struct nb_drift *drift, uint32_t kind, double probability);
/* Forgets everything. */
void nb_drift_reset(struct nb_drift *drift);

struct nb_drift_figures {
    uint64_t recent, before; /* verdicts that were compared */
    double distance;         /* D, 0 to 1 */
    double p;
};
/* Compares recent verdicts with earlier ones. Returns false, with *figures unchanged, if there are
 * too few. */
bool nb_drift_compare(struct nb_drift *drift, struct nb_drift_figures *figures);

#endif
