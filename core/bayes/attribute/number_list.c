/* SPDX-License-Identifier: Apache-2.0 */
#include "core/bayes/attribute/number_list.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/base/search.h"

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

/* By attribute, then by number; rows, which differ, settle the rest. */
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

/* Adds the numbers among the rows that have not been seen, behind the others. */
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

/* Puts a number that stands behind the first `count` into its place among them. */
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
    if (rc != 0) { /* from the first row on, the next time */
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
    size_t first, end; /* of the number's cells */
};

/* Into its place among the number's cells. */
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

/* The first number of an attribute, or of one after it. */
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
