/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/random.h"
#include "core/jobs/mixture/mixture_fit.h"

static const double two_pi = 6.283185307179586;

uint32_t nb_mixture_number_count(const struct nb_mixture_documents *documents, size_t document)
{
    uint32_t count = 0;
    for (uint32_t g = 0; g < documents->numbers; g++)
        count += isnan(documents->values[document * documents->numbers + g]) ? 0 : 1;
    return count;
}

/* Computes the terms of the Gaussians' densities from means and variances. */
static void mixture_gaussians_ready(struct nb_mixture_run *run)
{
    const struct nb_mixture *m = run->mixture;
    for (size_t i = 0; i < (size_t)m->numbers * m->clusters; i++) {
        assert(m->variance[i] > 0);
        run->gaussians.log_height[i] = -log(two_pi * m->variance[i]) / 2;
    }
}

void nb_mixture_gaussians_score(const struct nb_mixture_run *run, size_t document)
{
    const struct nb_mixture *m = run->mixture;
    for (uint32_t g = 0; g < m->numbers; g++) {
        double value = run->documents->values[document * m->numbers + g];
        const size_t at = (size_t)g * m->clusters;
        for (uint32_t k = 0; k < m->clusters && !isnan(value); k++) {
            double distance = value - m->mean[at + k];
            run->scores[k] +=
                run->gaussians.log_height[at + k] - distance * distance / (2 * m->variance[at + k]);
        }
    }
}

void nb_mixture_gaussians_clear(struct nb_mixture_run *run)
{
    size_t size = (size_t)run->mixture->numbers * run->mixture->clusters * sizeof(double);
    memset(run->gaussians.members, 0, size);
    memset(run->gaussians.sums, 0, size);
    memset(run->gaussians.squares, 0, size);
}

/* Sums distances from the old means. At the end these are near the new ones, so that subtracting
 * the square of the mean loses no precision. */
void nb_mixture_gaussians_expect(struct nb_mixture_run *run, size_t document)
{
    const struct nb_mixture *m = run->mixture;
    const struct nb_mixture_gaussians *s = &run->gaussians;
    for (uint32_t g = 0; g < m->numbers; g++) {
        double value = run->documents->values[document * m->numbers + g];
        const size_t at = (size_t)g * m->clusters;
        for (uint32_t k = 0; k < m->clusters && !isnan(value); k++) {
            double distance = value - m->mean[at + k];
            s->members[at + k] += run->scores[k];
            s->sums[at + k] += run->scores[k] * distance;
            s->squares[at + k] += run->scores[k] * distance * distance;
        }
    }
}

double nb_mixture_gaussians_maximize(struct nb_mixture_run *run)
{
    struct nb_mixture *m = run->mixture;
    const struct nb_mixture_gaussians *s = &run->gaussians;
    double prior = 0;
    for (size_t i = 0; i < (size_t)m->numbers * m->clusters; i++) {
        bool is_known =
            run->documents->variances != NULL && run->documents->variances[i / m->clusters] > 0;
        double shift = s->members[i] > 0 ? s->sums[i] / s->members[i] : 0;
        double spread = fmax(0, s->squares[i] - shift * s->sums[i]);
        m->mean[i] += shift;
        run->parameters += is_known ? 1 : 2;
        if (is_known)
            continue;
        m->variance[i] = (s->prior + spread) / (1 + s->members[i]);
        prior -= (log(m->variance[i]) + s->prior / m->variance[i]) / 2;
    }
    mixture_gaussians_ready(run);
    return prior;
}

static const double start_share =
    0.5; /* share of drawn documents in a start; the rest is all documents */
enum { START_DOCUMENTS = 10 };

/* Words of a document, with repetitions; without values of categories. */
static double mixture_length(const struct nb_mixture_documents *documents, size_t document)
{
    const struct nb_mixture_documents *d = documents;
    uint32_t words = nb_mixture_group_end(d, 0);
    double length = 0;
    for (size_t i = d->begin[document]; i < d->begin[document + 1]; i++)
        length += d->columns[i] < words ? (double)d->counts[i] : 0;
    return length;
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* The squared distance of a document from the means of a cluster, over the numbers that it has. */
static double distance_of(const struct nb_mixture_run *run, size_t document, uint32_t cluster)
{
    const struct nb_mixture *m = run->mixture;
    double sum = 0;
    for (uint32_t g = 0; g < m->numbers; g++) {
        double value = run->documents->values[document * m->numbers + g];
        double distance = isnan(value) ? 0 : value - m->mean[(size_t)g * m->clusters + cluster];
        sum += distance * distance;
    }
    return sum;
}

/* Draws a document with a probability in proportion to its `nearest`; if all are 0, any document.
 */
static size_t draw(struct nb_random *random, const double *nearest, size_t count)
{
    double total = 0;
    for (size_t i = 0; i < count; i++)
        total += nearest[i];
    size_t drawn = nb_random_below(random, count);
    double left = total * ((double)(nb_random_next(random) >> 11) * 0x1p-53);
    for (size_t i = 0; total > 0 && i < count; i++) {
        if (nearest[i] > 0)
            drawn = i;
        left -= nearest[i];
        if (left < 0)
            break;
    }
    return drawn;
}

/* Sets a cluster's means to a document's numbers, and to 0, the mean of all, where it has none. */
static void take_mean(struct nb_mixture_run *run, uint32_t cluster, size_t document)
{
    struct nb_mixture *m = run->mixture;
    for (uint32_t g = 0; g < m->numbers; g++) {
        double value = run->documents->values[document * m->numbers + g];
        m->mean[(size_t)g * m->clusters + cluster] = isnan(value) ? 0 : value;
    }
}

/* Takes each mean from a document that is drawn in proportion to its squared distance from the
 * nearest earlier mean, so that equal documents are not drawn twice. */
static int start_means(struct nb_mixture_run *run, struct nb_random *random)
{
    size_t count = run->documents->count;
    double *nearest = malloc(count * sizeof *nearest);
    if (nearest == NULL)
        return NB_NO_MEMORY;
    for (size_t i = 0; i < count; i++)
        nearest[i] = nb_mixture_number_count(run->documents, i) > 0;
    for (uint32_t k = 0; k < run->mixture->clusters; k++) {
        take_mean(run, k, draw(random, nearest, count));
        for (size_t i = 0; i < count; i++) {
            double distance = distance_of(run, i, k);
            nearest[i] = k == 0 || distance < nearest[i] ? distance : nearest[i];
        }
    }
    free(nearest);
    return 0;
}

static int start_gaussians(struct nb_mixture_run *run, uint64_t seed)
{
    struct nb_mixture *m = run->mixture;
    const double *known = run->documents->variances;
    if (m->numbers == 0)
        return 0;
    struct nb_random random = nb_random_of(~seed, m->clusters);
    run->gaussians.prior = pow(m->clusters, -2.0 / m->numbers);
    for (size_t i = 0; i < (size_t)m->numbers * m->clusters; i++) {
        bool is_known = known != NULL && known[i / m->clusters] > 0;
        m->variance[i] = is_known ? known[i / m->clusters] : 1;
    }
    mixture_gaussians_ready(run);
    return start_means(run, &random);
}

/* ---- words and categories -------------------------------------------------------------------- */

static void add_document(const struct nb_mixture_run *run, size_t document, uint32_t cluster)
{
    const struct nb_mixture_documents *d = run->documents;
    uint32_t words = nb_mixture_group_end(d, 0);
    double length = mixture_length(d, document);
    for (size_t i = d->begin[document]; i < d->begin[document + 1]; i++) {
        double weight = d->columns[i] < words ? (double)d->counts[i] / length : 1;
        run->counts[(size_t)d->columns[i] * run->mixture->clusters + cluster] +=
            weight / START_DOCUMENTS;
    }
}

/* Makes each group of columns sum to 1: half comes from the drawn documents, if they have the
 * group. */
static void mix(struct nb_mixture_run *run, uint32_t group, const double *all)
{
    struct nb_mixture *m = run->mixture;
    uint32_t begin = nb_mixture_group_begin(run->documents, group);
    uint32_t end = nb_mixture_group_end(run->documents, group);
    double total = 0;
    for (uint32_t w = begin; w < end; w++)
        total += all[w];
    for (uint32_t k = 0; k < m->clusters; k++) {
        double drawn = 0;
        for (uint32_t w = begin; w < end; w++)
            drawn += run->counts[(size_t)w * m->clusters + k];
        double share = drawn > 0 ? start_share : 0;
        for (uint32_t w = begin; w < end; w++) {
            size_t at = (size_t)w * m->clusters + k;
            double own = drawn > 0 ? share * run->counts[at] / drawn : 0;
            m->log_word[at] = log(own + (1 - share) * all[w] / total);
        }
    }
}

/* Begins each cluster with some drawn documents, mixed with all documents, so that every word has a
 * probability before the first step. */
static int start_words(struct nb_mixture_run *run, uint64_t seed)
{
    const struct nb_mixture_documents *d = run->documents;
    struct nb_random random = nb_random_of(seed, run->mixture->clusters);
    double *all = calloc((size_t)d->words + 1, sizeof *all); /* of each column, its occurrences */
    if (all == NULL)
        return NB_NO_MEMORY;
    for (uint32_t k = 0; k < run->mixture->clusters; k++)
        for (int i = 0; i < START_DOCUMENTS; i++)
            add_document(run, nb_random_below(&random, d->count), k);
    for (size_t i = 0; i < d->begin[d->count]; i++)
        all[d->columns[i]] += (double)d->counts[i];
    for (uint32_t group = 0; group < nb_mixture_group_count(d); group++)
        mix(run, group, all);
    free(all);
    return 0;
}

int nb_mixture_start(struct nb_mixture_run *run, uint64_t seed)
{
    for (uint32_t k = 0; k < run->mixture->clusters; k++)
        run->mixture->log_share[k] = -log(run->mixture->clusters);
    int rc = start_words(run, seed);
    return rc == 0 ? start_gaussians(run, seed) : rc;
}
