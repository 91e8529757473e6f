/* SPDX-License-Identifier: Apache-2.0
 *
 * A fit under way, for core/jobs/mixture alone.
 */
#ifndef NB_CORE_JOBS_MIXTURE_MIXTURE_FIT_H
#define NB_CORE_JOBS_MIXTURE_MIXTURE_FIT_H

#include "core/jobs/mixture/parameters.h"

struct nb_mixture_gaussians {
    double *log_height; /* ln of the density at the mean, at g * clusters + k, as all of these */
    double *members;    /* expected documents that have the number */
    double *sums;       /* of their distances from the mean that the E step began with ... */
    double *squares;    /* ... and of these squared */
    double prior;       /* s_g ^ 2, the same for all */
};

struct nb_mixture_run {
    const struct nb_mixture_documents *documents;
    struct nb_mixture *mixture;
    double *counts;  /* expected, as mixture->log_word lies */
    double *members; /* expected documents of each cluster */
    double *sums;    /* of the counts of each cluster, in one group of columns */
    double *scores;  /* of the present document */
    struct nb_mixture_gaussians gaussians;
    double parameters;
    double moved; /* by the last M step: of each word and value its expected count times the change
                     of ln theta, summed */
    double sum;   /* of these counts */
};

/* Columns whose theta sum to 1: the words, then each category. */
static inline uint32_t nb_mixture_group_count(const struct nb_mixture_documents *d)
{
    return 1 + d->categories;
}
static inline uint32_t nb_mixture_group_begin(const struct nb_mixture_documents *d, uint32_t group)
{
    return group == 0 ? 0 : d->category[group - 1];
}
static inline uint32_t nb_mixture_group_end(const struct nb_mixture_documents *d, uint32_t group)
{
    return group < d->categories ? d->category[group] : d->words;
}

/* Numbers that a document has. */
uint32_t nb_mixture_number_count(const struct nb_mixture_documents *documents, size_t document);

/* Sets the parameters that the first E step begins with. Uses run->counts and run->sums. Returns 0
 * or NB_NO_MEMORY. */
int nb_mixture_start(struct nb_mixture_run *run, uint64_t seed);

/* Adds ln of the likelihood of a document's numbers to run->scores. */
void nb_mixture_gaussians_score(const struct nb_mixture_run *run, size_t document);
void nb_mixture_gaussians_clear(struct nb_mixture_run *run);
/* run->scores are the probabilities of the clusters: the E step of a document. */
void nb_mixture_gaussians_expect(struct nb_mixture_run *run, size_t document);
/* The M step. Returns ln of the priors' density without the terms that do not depend on the
 * parameters, and adds to run->parameters. */
double nb_mixture_gaussians_maximize(struct nb_mixture_run *run);

#endif
