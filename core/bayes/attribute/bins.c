/* SPDX-License-Identifier: Apache-2.0 */
#include "core/bayes/attribute/bins.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

/* What is a whole number but for rounding is one. */
static const double ROUNDING = 1e-9;

/* ---- cutting --------------------------------------------------------------------------------- */

static void put_sums(struct nb_bins *b, const struct nb_number_span *numbers)
{
    const struct nb_number_cell *end = numbers->cells + numbers->begin[numbers->count];
    for (const struct nb_number_cell *c = numbers->cells + numbers->begin[0]; c < end; c++)
        b->sums[c->place] += c->documents;
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
static double weight_of(const struct nb_bins *b, const struct nb_number_span *numbers, size_t at)
{
    double weight = 0;
    for (size_t i = numbers->begin[at]; i < numbers->begin[at + 1]; i++) {
        const struct nb_number_cell *c = &numbers->cells[i];
        weight += (double)c->documents / (double)b->sums[c->place];
    }
    return weight;
}

static size_t bins_for(uint64_t numbers)
{
    size_t bins = (size_t)sqrt((double)numbers);
    return bins < 2 ? 2 : bins > NB_BINS_MOST ? NB_BINS_MOST : bins;
}

/* To the last bin. */
static void add_number(struct nb_bins *b, const struct nb_number_span *numbers, size_t at)
{
    uint64_t *counts = &b->counts[(b->count - 1) * (b->size + 1)];
    for (size_t i = numbers->begin[at]; i < numbers->begin[at + 1]; i++) {
        const struct nb_number_cell *c = &numbers->cells[i];
        counts[c->place] += c->documents;
        counts[b->size] += c->documents;
    }
}

static void cut(struct nb_bins *b, const struct nb_number_span *numbers)
{
    size_t most = bins_for(b->sum), last = 0;
    double labels = labels_with_numbers(b), below = 0;
    nb_int128 before = 0;
    for (size_t i = 0; i < numbers->count; i++) {
        double weight = weight_of(b, numbers, i);
        if (!(weight > 0)) /* no document has it any more */
            continue;
        double place_in_bins = (double)most * (below + weight / 2) / labels;
        size_t bin = (size_t)(place_in_bins + ROUNDING);
        bin = bin < most ? bin : most - 1;
        if (b->count == 0 || bin > last) {
            if (b->count > 0)
                b->ends[b->count - 1] = before + numbers->rows[i].fixed;
            b->count++;
        }
        assert(b->count <= most);
        last = bin;
        below += weight;
        before = numbers->rows[i].fixed;
        add_number(b, numbers, i);
    }
}

int nb_bins_make(struct nb_bins *bins, uint32_t size, const struct nb_number_span *numbers)
{
    struct nb_bins b = {.size = size};
    b.ends = calloc(NB_BINS_MOST, sizeof *b.ends);
    b.counts = calloc(NB_BINS_MOST * ((size_t)size + 1), sizeof *b.counts);
    b.sums = calloc((size_t)size + 1, sizeof *b.sums);
    nb_bins_deinit(bins);
    *bins = b;
    if (b.ends == NULL || b.counts == NULL || b.sums == NULL)
        return NB_NO_MEMORY;
    put_sums(bins, numbers);
    if (bins->sum > 0)
        cut(bins, numbers);
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
