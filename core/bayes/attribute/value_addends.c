/* SPDX-License-Identifier: Apache-2.0 */
#include "core/bayes/attribute/value_addends.h"

#include <assert.h>

/* The first of the attribute's values, and the first behind them. */
static void find(const struct nb_smoothing *by, size_t attribute, size_t *first, size_t *end)
{
    assert(attribute < NB_ATTRIBUTES_MOST);
    unsigned part = (unsigned)attribute * 2;
    *first = nb_smoothing_place(by, nb_feature_value_id(part, 0));
    *end = nb_smoothing_place(by, nb_feature_value_id(part + 1, 0));
}

bool nb_value_addends_has(const struct nb_settings *settings, size_t attribute)
{
    size_t first, end;
    if (settings->smoothing_by.kind != NB_SMOOTHING_VALUES)
        return false;
    find(&settings->smoothing_by, attribute, &first, &end);
    return first < end;
}

static double addend(const struct nb_settings *settings, double smoothing)
{
    return nb_estimate_addend((enum nb_estimate)settings->estimate, smoothing);
}

struct nb_addends nb_value_addends_of(const struct nb_settings *settings, uint64_t id)
{
    const struct nb_smoothing *by = &settings->smoothing_by;
    size_t place = nb_smoothing_place(by, id);
    bool is_named = place < by->value_count && by->values[place].id == id;
    double b = addend(settings, is_named ? by->values[place].smoothing : settings->smoothing);
    return (struct nb_addends){b, b};
}

double nb_value_addends_sum(const struct nb_settings *settings, const struct nb_model *model,
                            size_t attribute, uint64_t vocabulary)
{
    const struct nb_smoothing *by = &settings->smoothing_by;
    size_t first, end;
    uint64_t others = vocabulary;
    double sum = 0;
    find(by, attribute, &first, &end);
    for (size_t i = first; i < end; i++) {
        uint32_t row = nb_model_find(model, by->values[i].id);
        if (row == NB_NO_ROW || !nb_counts_any(nb_model_row(model, row)))
            continue;
        assert(others > 0);
        others--;
        sum += addend(settings, by->values[i].smoothing);
    }
    return sum + (double)others * addend(settings, settings->smoothing);
}
