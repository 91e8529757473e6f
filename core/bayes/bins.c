/* SPDX-License-Identifier: Apache-2.0 */
#include "core/bayes/bins.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"

struct nb_gaussian nb_gaussian_of(const struct nb_moments *own, const struct nb_moments *all,
                                  double added)
{
    static const double two_pi = 6.283185307179586;
    struct nb_gaussian g = {.moments = own->count > 0 ? *own : *all};
    assert(all->count > 0 && added > 0);
    g.variance = nb_moments_variance(own->count > 1 ? own : all) + added;
    g.log_height = -log(two_pi * g.variance) / 2;
    return g;
}

double nb_gaussian_log(const struct nb_gaussian *gaussian, nb_int128 fixed)
{
    double deviation = nb_moments_deviation(&gaussian->moments, fixed);
    return gaussian->log_height - deviation * deviation / (2 * gaussian->variance);
}

void nb_number_list_deinit(struct nb_number_list *list)
{
    free(list->rows);
    free(list->begin);
    free(list->cells);
    free(list->places);
    *list = (struct nb_number_list){0};
}

size_t nb_number_list_memory(const struct nb_number_list *list)
{
    return list->row_room * sizeof *list->rows + list->begin_room * sizeof *list->begin +
           list->cell_room * sizeof *list->cells + list->place_room * sizeof *list->places;
}

/* ---- the order ------------------------------------------------------------------------------- */

/* Compares by attribute, then by number, then by row. Rows always differ. */
static int compare(const struct nb_number_row *x, const struct nb_number_row *y)
{
    if (x->attribute != y->attribute)
        return x->attribute < y->attribute ? -1 : 1;
    if (x->fixed != y->fixed)
        return x->fixed < y->fixed ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

static int by_number(const void *a, const void *b)
{
    return compare(a, b);
}

/* Appends the numbers among the rows that have not been seen. */
static int collect(struct nb_number_list *list, const struct nb_model *model, size_t *count)
{
    uint32_t rows = nb_model_rows(model);
    for (; list->seen < rows; list->seen++) {
        uint64_t id = nb_model_packed(model, list->seen)->id;
        if (!nb_feature_is_number(id))
            continue;
        if (nb_array_reserve(&list->rows, &list->row_room, *count + 1, sizeof *list->rows) != 0)
            return NB_NO_MEMORY;
        list->rows[(*count)++] = (struct nb_number_row){
            .fixed = nb_decimal_fixed(id), .row = list->seen, .attribute = nb_feature_part(id) / 2};
    }
    return 0;
}

static bool is_before(const void *rows, size_t at, const void *row)
{
    return compare((const struct nb_number_row *)rows + at, row) < 0;
}

/* Inserts the number that follows the first `count` at its place among them. */
static void insert(struct nb_number_list *list, size_t count)
{
    struct nb_number_row one = list->rows[count];
    size_t at = nb_search(list->rows, count, &one, is_before);
    memmove(list->rows + at + 1, list->rows + at, (count - at) * sizeof *list->rows);
    list->rows[at] = one;
}

static int put_order(struct nb_number_list *list, const struct nb_model *model)
{
    enum { FEW = 8 };
    if (list->renames != nb_model_renames(model) || nb_model_rows(model) < list->seen)
        list->count = list->seen = 0;
    size_t count = list->count;
    int rc = collect(list, model, &count);
    if (rc != 0) { /* start again from the first row next time */
        list->count = list->seen = 0;
        return rc;
    }
    if (count - list->count > FEW)
        qsort(list->rows, count, sizeof *list->rows, by_number);
    for (size_t i = list->count; count - list->count <= FEW && i < count; i++)
        insert(list, i);
    list->count = count;
    list->renames = nb_model_renames(model);
    return 0;
}

/* ---- the counts ------------------------------------------------------------------------------ */

static int put_places(struct nb_number_list *list, const struct nb_model *model,
                      const uint32_t *names, uint32_t size)
{
    uint32_t labels = nb_model_label_count(model);
    if (nb_array_reserve(&list->places, &list->place_room, labels + (size_t)1,
                         sizeof *list->places) != 0)
        return NB_NO_MEMORY;
    for (uint32_t v = 0; v < labels; v++)
        list->places[v] = UINT32_MAX;
    for (uint32_t place = 0; place < size; place++)
        list->places[names[place]] = place;
    return 0;
}

struct gathering {
    struct nb_number_list *list;
    size_t first, end; /* range of the number's cells */
};

/* Inserts a cell at its place among the number's cells. */
static inline void add_cell(void *user, struct nb_cell cell)
{
    struct gathering *g = user;
    struct nb_number_cell *cells = g->list->cells;
    uint32_t place = g->list->places[cell.label];
    size_t at = g->end;
    if (cell.documents == 0 || place == UINT32_MAX)
        return;
    for (; at > g->first && cells[at - 1].place > place; at--)
        cells[at] = cells[at - 1];
    cells[at] = (struct nb_number_cell){place, cell.documents};
    g->end++;
}

static int put_cells(struct nb_number_list *list, const struct nb_model *model)
{
    struct gathering g = {.list = list};
    if (nb_array_reserve(&list->begin, &list->begin_room, list->count + 1, sizeof *list->begin) !=
        0)
        return NB_NO_MEMORY;
    for (size_t i = 0; i < list->count; i++) {
        struct nb_row row = nb_model_row(model, list->rows[i].row);
        if (i + NB_MODEL_AHEAD < list->count)
            __builtin_prefetch(nb_model_packed(model, list->rows[i + NB_MODEL_AHEAD].row));
        g.first = list->begin[i] = g.end;
        if (nb_array_reserve(&list->cells, &list->cell_room,
                             g.end + nb_counts_labels(model, row) + 1, sizeof *list->cells) != 0)
            return NB_NO_MEMORY;
        nb_counts_each(model, row, add_cell, &g);
    }
    list->begin[list->count] = g.end;
    return 0;
}

int nb_number_list_make(struct nb_number_list *list, const struct nb_model *model,
                        const uint32_t *names, uint32_t size)
{
    int rc = put_order(list, model);
    if (rc == 0)
        rc = put_places(list, model, names, size);
    return rc != 0 ? rc : put_cells(list, model);
}

static bool is_of_earlier(const void *rows, size_t at, const void *attribute)
{
    return ((const struct nb_number_row *)rows)[at].attribute < *(const size_t *)attribute;
}

/* Returns the first number of an attribute, or of a later attribute. */
static size_t start_of(const struct nb_number_list *list, size_t attribute)
{
    return nb_search(list->rows, list->count, &attribute, is_of_earlier);
}

struct nb_number_span nb_number_list_span(const struct nb_number_list *list, size_t attribute)
{
    size_t start = start_of(list, attribute);
    assert(list->begin != NULL);
    return (struct nb_number_span){.rows = list->rows + start,
                                   .begin = list->begin + start,
                                   .cells = list->cells,
                                   .count = start_of(list, attribute + 1) - start};
}

/* A place this little below a whole number counts as that number. */
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

/* Returns w(x) times the number of labels that have numbers. */
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

/* Adds a number to the last bin. */
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
    struct nb_settings own = *settings; /* a shallow copy; a category is drawn once */
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
