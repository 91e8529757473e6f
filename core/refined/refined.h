/* SPDX-License-Identifier: Apache-2.0
 *
 * What documents without a label have given a model: their expected counts, how much they weigh,
 * and how that was found. Immutable, shared by reference count; any thread.
 */
#ifndef NB_CORE_REFINED_REFINED_H
#define NB_CORE_REFINED_REFINED_H

#include "core/expected/expected.h"
#include "core/score/scorer.h"

/* How well documents of a sample are predicted by a model that has not learned them. */
struct nb_refined_loss {
    double log_loss; /* mean of -ln P(label); by the book at the best temperature */
    double accuracy;
};

struct nb_refined {
    atomic_uint references;
    struct nb_expected *expected; /* NULL: they weigh nothing */
    struct nb_scorer *scorer;     /* owned; by the book, with these counts; NULL as they are */
    double weight;                /* of a document without a label */
    double smoothing;             /* inside EM */
    /* Of a stacked model, whose verdicts are a pool of scores without them and with them: how much
     * of it is of these, below 1, and what these are multiplied by. */
    bool is_pooled;
    double share, temperature;
    uint64_t documents; /* without a label that were looked at */
    uint64_t labelled;  /* that the model had */
    uint64_t replaced;  /* documents that were forgotten or changed until then, of all */
    unsigned iterations;
    double log_likelihood, first; /* that EM maximizes: at its end, and at its beginning */
    uint64_t measured;            /* documents of the sample; 0: too few to measure anything */
    uint32_t folds;               /* that they were left out in; `measured`: each alone */
    struct nb_refined_loss without, with;
    double seconds;  /* that it took */
    char reason[96]; /* why they weigh nothing although nothing was measured; else "" */
};

struct nb_refined *nb_refined_use(struct nb_refined *refined);
/* Makes the scorer of its counts, under the model's settings. Returns 0 or NB_NO_MEMORY. */
int nb_refined_make_scorer(struct nb_refined *refined, const struct nb_settings *settings);
/* Bytes that the counts take and what the scorer keeps of them; 0 for NULL. */
size_t nb_refined_memory(const struct nb_refined *refined);
/* Gives a reference back, and sets *refined to NULL, which is allowed inside. */
void nb_refined_release(struct nb_refined **refined);

#endif
