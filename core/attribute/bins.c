/* SPDX-License-Identifier: Apache-2.0 */
#include "core/attribute/bins.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

/* What is a whole number but for rounding is one. */
static const double ROUNDING = 1e-9;

/* ---- the numbers ----------------------------------------------------------------------------- */

static bool is_number(const struct nb_row *row, size_t attributes)
{
    return nb_feature_is_number(row->id) && nb_counts_any(row) &&
           nb_feature_part(row->id) / 2 < attributes;
}

/* By attribute, then by number; ids, which differ, settle the rest. */
static int by_number(const void *a, const void *b)
{
    const struct nb_number_row *x = a, *y = b;
    unsigned own = nb_feature_part(x->row->id) / 2, other = nb_feature_part(y->row->id) / 2;
    if (own != other)
        return own < other ? -1 : 1;
    if (x->fixed != y->fixed)
        return x->fixed < y->fixed ? -1 : 1;
    return x->row->id < y->row->id ? -1 : x->row->id > y->row->id;
}

/* Values that documents have of these attributes: not less than there are numbers. */
static size_t values_of(const struct nb_model *model, size_t attributes)
{
    size_t values = 0;
    for (size_t i = 0; i < attributes; i++)
        values += nb_model_vocabulary(model, NB_FIRST_PART + (unsigned)i * 2);
    return values;
}

/* There is room for `most`; no more are found. */
static size_t collect(const struct nb_model *model, size_t attributes, size_t most,
                      struct nb_number_row *to)
{
    size_t count = 0;
    uint32_t rows = nb_model_rows(model);
    for (uint32_t number = 0; number < rows && count < most; number++) {
        const struct nb_row *row = nb_model_row(model, number);
        if (is_number(row, attributes))
            to[count++] = (struct nb_number_row){nb_decimal_fixed(row->id), row};
    }
    return count;
}

int nb_number_rows(const struct nb_model *model, size_t attributes, struct nb_number_row **rows,
                   size_t **starts)
{
    size_t most = values_of(model, attributes);
    *rows = malloc((most + 1) * sizeof **rows);
    *starts = calloc(attributes + 1, sizeof **starts);
    if (*rows == NULL || *starts == NULL) {
        free(*rows);
        free(*starts);
        return NB_NO_MEMORY;
    }
    size_t count = collect(model, attributes, most, *rows);
    qsort(*rows, count, sizeof **rows, by_number);
    for (size_t i = 0; i < count; i++)
        (*starts)[nb_feature_part((*rows)[i].row->id) / 2 + 1] = i + 1;
    for (size_t i = 1; i <= attributes; i++)
        if ((*starts)[i] < (*starts)[i - 1])
            (*starts)[i] = (*starts)[i - 1];
    return 0;
}

/* ---- cutting --------------------------------------------------------------------------------- */

static uint64_t documents_of(const struct nb_model *model, const struct nb_row *row, uint32_t label)
{
    return nb_counts_of(model, row, label).documents;
}

static void put_sums(struct nb_bins *b, const struct nb_model *model, const uint32_t *names,
                     const struct nb_number_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (uint32_t place = 0; place < b->size; place++)
            b->sums[place] += documents_of(model, rows[i].row, names[place]);
    for (uint32_t place = 0; place < b->size; place++)
        b->sum += b->sums[place];
}

static uint32_t labels_with_numbers(const struct nb_bins *b)
{
    uint32_t labels = 0;
    for (uint32_t place = 0; place < b->size; place++)
        labels += b->sums[place] > 0;
    return labels;
}

/* w(x), times the number of labels that have numbers. */
static double weight_of(const struct nb_bins *b, const struct nb_model *model,
                        const uint32_t *names, const struct nb_row *row)
{
    double weight = 0;
    for (uint32_t place = 0; place < b->size; place++)
        if (b->sums[place] > 0)
            weight += (double)documents_of(model, row, names[place]) / (double)b->sums[place];
    return weight;
}

static size_t bins_for(uint64_t numbers)
{
    size_t bins = (size_t)sqrt((double)numbers);
    return bins < 2 ? 2 : bins > NB_BINS_MOST ? NB_BINS_MOST : bins;
}

/* To the last bin. */
static void add_row(struct nb_bins *b, const struct nb_model *model, const uint32_t *names,
                    const struct nb_row *row)
{
    uint64_t *counts = &b->counts[(b->count - 1) * (b->size + 1)];
    for (uint32_t place = 0; place < b->size; place++) {
        uint64_t documents = documents_of(model, row, names[place]);
        counts[place] += documents;
        counts[b->size] += documents;
    }
}

static void cut(struct nb_bins *b, const struct nb_model *model, const uint32_t *names,
                const struct nb_number_row *rows, size_t count)
{
    size_t most = bins_for(b->sum), last = 0;
    double labels = labels_with_numbers(b), below = 0;
    for (size_t i = 0; i < count; i++) {
        double weight = weight_of(b, model, names, rows[i].row);
        double place_in_bins = (double)most * (below + weight / 2) / labels;
        size_t bin = (size_t)(place_in_bins + ROUNDING);
        bin = bin < most ? bin : most - 1;
        if (i == 0 || bin > last) {
            if (i > 0)
                b->ends[b->count - 1] = rows[i - 1].fixed + rows[i].fixed;
            b->count++;
        }
        assert(b->count <= most);
        last = bin;
        below += weight;
        add_row(b, model, names, rows[i].row);
    }
}

int nb_bins_make(struct nb_bins *bins, const struct nb_model *model, const uint32_t *names,
                 uint32_t size, const struct nb_number_row *rows, size_t count)
{
    struct nb_bins b = {.size = size};
    b.ends = calloc(NB_BINS_MOST, sizeof *b.ends);
    b.counts = calloc(NB_BINS_MOST * ((size_t)size + 1), sizeof *b.counts);
    b.sums = calloc((size_t)size + 1, sizeof *b.sums);
    nb_bins_deinit(bins);
    *bins = b;
    if (b.ends == NULL || b.counts == NULL || b.sums == NULL)
        return NB_NO_MEMORY;
    put_sums(bins, model, names, rows, count);
    if (bins->sum > 0)
        cut(bins, model, names, rows, count);
    return 0;
}

void nb_bins_deinit(struct nb_bins *bins)
{
    free(bins->ends);
    free(bins->counts);
    free(bins->sums);
    *bins = (struct nb_bins){0};
}

size_t nb_bins_find(const struct nb_bins *bins, nb_int128 fixed)
{
    size_t low = 0, high = bins->count - 1;
    assert(bins->count > 0);
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (2 * fixed <= bins->ends[middle])
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

size_t nb_bins_memory(const struct nb_bins *bins)
{
    if (bins->ends == NULL)
        return 0;
    return NB_BINS_MOST * (sizeof *bins->ends + (bins->size + 1) * sizeof *bins->counts) +
           bins->size * sizeof *bins->sums;
}

/* ---- estimates ------------------------------------------------------------------------------- */

struct nb_bin_counts nb_bin_counts_of(const struct nb_bins *bins, size_t bin, uint32_t place)
{
    const uint64_t *counts = &bins->counts[bin * (bins->size + 1)];
    return (struct nb_bin_counts){counts[place], counts[bins->size], bins->sums[place], bins->sum,
                                  bins->count};
}

struct nb_addends nb_bin_addends(const struct nb_settings *settings, const char *label,
                                 struct nb_bin_counts counts, double *added)
{
    struct nb_settings own = *settings; /* a borrowed view; a category is drawn once */
    own.event_model = NB_EVENT_MULTINOMIAL;
    struct nb_addends addends = nb_estimate_addends(&own, label, counts.bins);
    *added = nb_estimate_added(&own, addends, counts.bins);
    if (nb_estimate_is_by_word(&own) && counts.all_sum > 0)
        addends = nb_estimate_addends_of_share(own.smoothing,
                                               (double)counts.all / (double)counts.all_sum);
    return addends;
}

double nb_bin_log(const struct nb_settings *settings, const char *label,
                  struct nb_bin_counts counts)
{
    double added;
    struct nb_addends addends = nb_bin_addends(settings, label, counts, &added);
    double above = (double)counts.own + addends.present;
    return above > 0 ? log(above) - log((double)counts.own_sum + added) : -(double)INFINITY;
}

struct nb_factor nb_bin_factor(const struct nb_settings *settings, const char *label,
                               struct nb_bin_counts counts)
{
    bool is_complement = settings->event_model == NB_EVENT_COMPLEMENT;
    if (is_complement) {
        counts.own = counts.all - counts.own;
        counts.own_sum = counts.all_sum - counts.own_sum;
    }
    double log_estimate = nb_bin_log(settings, label, counts);
    if (isinf(log_estimate))
        return (struct nb_factor){.is_zero = true};
    return (struct nb_factor){.log = is_complement ? -log_estimate : log_estimate};
}
