/* SPDX-License-Identifier: Apache-2.0 */
#include "core/bayes/attribute/number_reading.h"

#include <assert.h>
#include <math.h>

#include "core/bayes/attribute/bins.h"

/* ---- Gaussians ------------------------------------------------------------------------------- */

/* The moments of a label, without the left-out document. */
static struct nb_moments moments_of(const struct nb_number_reading *r, uint32_t label)
{
    struct nb_moments moments = nb_model_moments(r->model, label, r->attribute);
    if (label == r->without && moments.count > 0)
        nb_moments_add(&moments, r->fixed, 1, -1);
    return moments;
}

static double log_density(const struct nb_number_reading *r, const struct nb_moments *own,
                          double smoothing)
{
    double count = own->count > 0 ? (double)own->count : 1;
    double added = r->variance * (smoothing / count + NB_VARIANCE_SMOOTHING);
    struct nb_gaussian gaussian = nb_gaussian_of(own, &r->all, added);
    return nb_gaussian_log(&gaussian, r->fixed);
}

static double gaussian_reading(const struct nb_number_reading *r, uint32_t label, double smoothing)
{
    struct nb_moments own = moments_of(r, label), others = r->all;
    assert(r->variance > 0 && smoothing > 0);
    nb_moments_merge(&others, &own, -1);
    double reading = log_density(r, &own, smoothing) - log_density(r, &others, smoothing);
    return fmax(fmin(reading, NB_NUMBER_READING_MOST), -NB_NUMBER_READING_MOST);
}

/* ---- bins ------------------------------------------------------------------------------------ */

static const struct nb_bins *bins_of(const struct nb_number_reading *r)
{
    return &r->numbers->counts[r->attribute].bins;
}

/* A difference of counts. Below 0 only if the document is not in the counts any more. */
static uint64_t less(uint64_t count, bool is_out)
{
    return count > 0 ? count - is_out : 0;
}

/* The place of a label among the labels of the bins. Mostly it is the same. */
static uint32_t place_in_bins(const struct nb_number_reading *r, uint32_t place)
{
    const struct nb_numbers *n = r->numbers;
    uint32_t label = r->labels[place];
    if (place < n->size && n->names[place] == label)
        return place;
    for (place = 0; place < n->size && n->names[place] != label;)
        place++;
    assert(place < n->size);
    return place;
}

/* The counts of the bin, without the left-out document. */
static struct nb_bin_counts counts_of(const struct nb_number_reading *r, uint32_t place)
{
    place = place_in_bins(r, place);
    struct nb_bin_counts counts = nb_bin_counts_of(bins_of(r), r->bin, place);
    bool is_out = r->without != NB_NUMBER_OF_ALL;
    bool is_own = is_out && r->numbers->names[place] == r->without;
    counts.bins -= is_out && counts.all == 1;
    counts.own = less(counts.own, is_own);
    counts.own_sum = less(counts.own_sum, is_own);
    counts.all = less(counts.all, is_out);
    counts.all_sum = less(counts.all_sum, is_out);
    return counts;
}

static double bin_reading(const struct nb_number_reading *r, uint32_t place, double smoothing)
{
    const struct nb_bin_counts c = counts_of(r, place);
    double more = smoothing * ((double)c.bins + 1);
    double others = (double)(c.all - (c.own < c.all ? c.own : c.all));
    double other_sum = (double)(c.all_sum - (c.own_sum < c.all_sum ? c.own_sum : c.all_sum));
    return log((double)c.own + smoothing) - log(others + smoothing) -
           log((double)c.own_sum + more) + log(other_sum + more);
}

/* ---- both ------------------------------------------------------------------------------------ */

static bool is_cut(const struct nb_number_reading *r)
{
    return r->numbers != NULL && r->attribute < r->numbers->count &&
           r->numbers->counts[r->attribute].is_cut;
}

struct nb_number_reading nb_number_reading(const struct nb_model *model,
                                           const struct nb_numbers *numbers, uint64_t id,
                                           const uint32_t *labels, uint32_t size, uint32_t without)
{
    struct nb_number_reading r = {.model = model,
                                  .labels = labels,
                                  .attribute = nb_feature_part(id) / 2,
                                  .fixed = nb_decimal_fixed(id),
                                  .without = without,
                                  .numbers = numbers};
    assert(nb_feature_is_number(id));
    if (is_cut(&r)) {
        r.bin = nb_bins_find(bins_of(&r), r.fixed);
        return r;
    }
    r.numbers = NULL;
    for (uint32_t i = 0; i < size; i++) {
        struct nb_moments own = moments_of(&r, labels[i]);
        nb_moments_merge(&r.all, &own, 1);
    }
    r.variance = nb_moments_variance(&r.all);
    return r;
}

bool nb_number_reading_says(const struct nb_number_reading *r)
{
    return r->numbers != NULL ? counts_of(r, 0).all > 0 : r->variance > 0;
}

double nb_number_reading_of(const struct nb_number_reading *r, uint32_t place, double smoothing)
{
    return r->numbers != NULL ? bin_reading(r, place, smoothing)
                              : gaussian_reading(r, r->labels[place], smoothing);
}
