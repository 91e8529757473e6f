/* SPDX-License-Identifier: Apache-2.0 */
#include "core/attribute/number_reading.h"

#include <assert.h>
#include <math.h>

/* Of a label, without the document that is left out. */
static struct nb_moments moments_of(const struct nb_number_reading *r, uint32_t label)
{
    struct nb_moments moments = nb_model_moments(r->model, label, r->attribute);
    if (label == r->without && moments.count > 0)
        nb_moments_add(&moments, r->fixed, 1, -1);
    return moments;
}

struct nb_number_reading nb_number_reading(const struct nb_model *model, uint64_t id,
                                           const uint32_t *labels, uint32_t size, uint32_t without)
{
    struct nb_number_reading r = {.model = model,
                                  .attribute = nb_feature_part(id) / 2,
                                  .fixed = nb_decimal_fixed(id),
                                  .without = without};
    assert(nb_feature_is_number(id));
    for (uint32_t i = 0; i < size; i++) {
        struct nb_moments own = moments_of(&r, labels[i]);
        nb_moments_merge(&r.all, &own, 1);
    }
    r.variance = nb_moments_variance(&r.all);
    return r;
}

static double log_density(const struct nb_number_reading *r, const struct nb_moments *own,
                          double smoothing)
{
    double count = own->count > 0 ? (double)own->count : 1;
    double added = r->variance * (smoothing / count + NB_VARIANCE_SMOOTHING);
    struct nb_gaussian gaussian = nb_gaussian_of(own, &r->all, added);
    return nb_gaussian_log(&gaussian, r->fixed);
}

double nb_number_reading_of(const struct nb_number_reading *r, uint32_t label, double smoothing)
{
    struct nb_moments own = moments_of(r, label), others = r->all;
    assert(r->variance > 0 && smoothing > 0);
    nb_moments_merge(&others, &own, -1);
    double reading = log_density(r, &own, smoothing) - log_density(r, &others, smoothing);
    return fmax(fmin(reading, NB_NUMBER_READING_MOST), -NB_NUMBER_READING_MOST);
}
