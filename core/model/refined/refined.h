/* SPDX-License-Identifier: Apache-2.0
 *
 * The result of fitting a model's documents without a label: their expected counts, their weight,
 * and how the weight was measured. Immutable, shared by reference count; any thread.
 */
#ifndef NB_CORE_MODEL_REFINED_REFINED_H
#define NB_CORE_MODEL_REFINED_REFINED_H

#include "core/bayes/book/scorer.h"
#include "core/bayes/expected/expected.h"

/* How well a model predicts the documents of a sample that it has not learned. */
struct nb_refined_loss {
    double log_loss; /* mean of -ln P(label); by the book, at the best temperature */
    double accuracy;
};

struct nb_refined {
    atomic_uint references;
    struct nb_expected *expected; /* NULL: the weight is 0 */
    struct nb_scorer *scorer;     /* owned; by the book, adds these counts; NULL if `expected` is */
    double weight;                /* of a document without a label */
    double smoothing;             /* inside EM */
    /* A stacked model pools the scores without and with expected counts. The scores with them have
     * the share `share`, below 1, and are multiplied by `temperature`. */
    bool is_pooled;
    double share, temperature;
    uint64_t documents; /* unlabelled documents that the fit has read */
    uint64_t labelled;  /* documents with a label at that time */
    uint64_t replaced;  /* nb_live.replaced at that time */
    unsigned iterations;
    double log_likelihood,
        first;         /* the log-likelihood that EM maximizes, at its end and at its beginning */
    uint64_t measured; /* documents of the sample; 0: too few to measure anything */
    uint32_t folds;    /* of the cross-validation; equal to `measured`: leave-one-out */
    struct nb_refined_loss without, with;
    double seconds;  /* duration of the fit */
    char reason[96]; /* why the weight is 0 without a measurement; else "" */
};

struct nb_refined *nb_refined_use(struct nb_refined *refined);
/* Creates `scorer` for its counts and the model's settings. Returns 0 or NB_NO_MEMORY. */
int nb_refined_make_scorer(struct nb_refined *refined, const struct nb_settings *settings);
/* Bytes of the counts and of the scorer; 0 for NULL. */
size_t nb_refined_memory(const struct nb_refined *refined);
/* Releases a reference and sets *refined to NULL; *refined may be NULL already. */
void nb_refined_release(struct nb_refined **refined);

#endif
