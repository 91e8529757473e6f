/* SPDX-License-Identifier: Apache-2.0
 *
 * Documents as a mixture sees them, and the parameters that are fitted to them.
 */
#ifndef NB_CORE_JOBS_MIXTURE_PARAMETERS_H
#define NB_CORE_JOBS_MIXTURE_PARAMETERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Documents as a sparse matrix, and a full one of numbers; all borrowed. The columns of document d
 * are columns[begin[d]] ... */
struct nb_mixture_documents {
    size_t count;
    uint32_t words;          /* number of all columns; those of categories come last */
    const size_t *begin;     /* count + 1 */
    const uint32_t *columns; /* below `words`, each once in a document */
    const float *counts;     /* above 0; of a category's value 1 */
    uint32_t categories;
    const uint32_t *category; /* first column of each category: the end of the one before */
    uint32_t numbers;
    const double *values;    /* number g of document d at d * numbers + g; NAN: it has none. Each g
                                with mean 0 and variance 1 over the documents that have it */
    const double *variances; /* of each number the known variance, or 0; NULL: none is known */
    bool has_equal_shares;   /* pi_k = 1 / clusters */
};

struct nb_mixture {
    uint32_t clusters, words, numbers;
    double *log_share; /* ln pi_k */
    double *log_word;  /* ln theta_kw, at w * clusters + k; of a category among its values */
    double *mean;      /* mu_kg, at g * clusters + k */
    double *variance;  /* sigma_kg ^ 2, alike */
    uint32_t *cluster; /* of each document, the most probable one; of equal ones the first */
    double *margin;    /* of each document: ln of its odds against the next one, for each value */
    double log_likelihood;
    double parameters; /* shares; words that a cluster has in at least half a document, of a
                          category one less; means and variances that are not known */
    unsigned iterations;
};

#endif
