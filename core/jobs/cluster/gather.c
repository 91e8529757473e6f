/* SPDX-License-Identifier: Apache-2.0 */
#include "core/jobs/cluster/gather.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/ledger/ledger.h"
#include "core/model/registry.h"

enum { SLICE_DOCUMENTS = 500 }; /* documents read in one snapshot */

void nb_gathered_deinit(struct nb_gathered *g)
{
    free(g->numbers);
    free(g->begin);
    free(g->columns);
    free(g->presence);
    free(g->used);
    free(g->word_rows);
    free(g->word_ids);
    free(g->found);
    free(g->scales);
    free(g->values);
    *g = (struct nb_gathered){0};
}

uint64_t nb_gathered_memory(const struct nb_gathered *g)
{
    return g->room * (sizeof *g->numbers + sizeof *g->begin) + g->size_room * sizeof *g->columns +
           g->found_room * sizeof *g->found + g->chosen_bytes;
}

/* ---- reading --------------------------------------------------------------------------------- */

struct reading {
    struct nb_gathered *gathered;
    const struct nb_model *counts;
    struct nb_rows bag;
    size_t begin_room, most;
};

static int make_room(struct reading *r, size_t size)
{
    struct nb_gathered *g = r->gathered;
    if (nb_array_reserve(&g->numbers, &g->room, g->count + 1, sizeof *g->numbers) != 0 ||
        nb_array_reserve(&g->begin, &r->begin_room, g->count + 2, sizeof *g->begin) != 0 ||
        nb_array_reserve(&g->columns, &g->size_room, g->size + size + 1, sizeof *g->columns) != 0 ||
        nb_array_reserve(&g->found, &g->found_room, g->found_count + size + 1, sizeof *g->found) !=
            0)
        return NB_NO_MEMORY;
    return 0;
}

/* Copies a number at once: its row may belong to another feature when all documents are read. */
static void take_number(struct nb_gathered *g, uint64_t id)
{
    uint32_t attribute = nb_feature_part(id) / 2;
    if (attribute >= g->attributes.count ||
        g->attributes.list[attribute].kind != NB_FIELD_KIND_NUMBER)
        return;
    g->found[g->found_count++] = (struct nb_gathered_number){
        .number = id, .document = (uint32_t)g->count, .attribute = attribute};
}

/* Takes the rows that are words or values, under the model's lock. */
static void take_rows(struct reading *r)
{
    struct nb_gathered *g = r->gathered;
    for (size_t i = 0; i < r->bag.size; i++) {
        uint32_t row = r->bag.counts[i].row;
        if (row >= nb_model_rows(r->counts))
            continue;
        uint64_t id = nb_model_row_id(r->counts, row);
        if (nb_feature_is_number(id))
            take_number(g, id);
        else if (nb_feature_is_token(id))
            g->columns[g->size++] = row;
    }
}

static int take(void *user, struct nb_entry *entry, struct nb_error *error)
{
    struct reading *r = user;
    struct nb_gathered *g = r->gathered;
    if (g->count == r->most)
        return nb_error_set(error, NB_TOO_LARGE, "more than %zu documents cannot be clustered",
                            r->most);
    nb_model_read_lock(r->counts);
    uint32_t rows = nb_model_rows(r->counts);
    int rc = nb_bag_decode(entry->change.bag, rows, &r->bag, error);
    if (rc == 0 && make_room(r, r->bag.size) != 0)
        rc = nb_error_no_memory(error);
    if (rc == 0) {
        g->begin[0] = 0;
        take_rows(r);
    }
    nb_model_unlock(r->counts);
    if (rc != 0)
        return rc;
    g->numbers[g->count++] = entry->number;
    g->begin[g->count] = g->size;
    return 0;
}

int nb_gather(struct nb_engine *engine, struct nb_live *live, struct nb_attributes attributes,
              bool all, size_t most, bool (*stop)(void *user),
              int (*hold)(void *user, uint64_t bytes, struct nb_error *error), void *user,
              struct nb_gathered *gathered, struct nb_error *error)
{
    struct reading r = {.gathered = gathered, .counts = live->counts, .most = most};
    struct nb_ledger_steps steps = {.store = engine->store,
                                    .model = live->number,
                                    .only = all ? NB_LEDGER_LIVING : NB_LEDGER_UNLABELLED,
                                    .most = SLICE_DOCUMENTS,
                                    .visit = take,
                                    .user = &r};
    int rc = 0;
    *gathered = (struct nb_gathered){.attributes = attributes};
    while (rc == 0 && !steps.is_done) {
        rc = nb_step_check(stop, user, error);
        if (rc == 0)
            rc = nb_ledger_step(&steps, error);
        if (rc == 0 && hold != NULL)
            rc = hold(user, nb_gathered_memory(gathered), error);
    }
    nb_rows_deinit(&r.bag);
    return rc;
}

enum { LEAST_OF_CATEGORY = 2 };

/* ---- columns --------------------------------------------------------------------------------- */

static int count_documents(struct nb_gathered *g)
{
    g->rows = 0;
    for (size_t i = 0; i < g->size; i++)
        if (g->columns[i] >= g->rows)
            g->rows = (size_t)g->columns[i] + 1;
    g->used = calloc(g->rows + 1, sizeof *g->used);
    if (g->used == NULL)
        return NB_NO_MEMORY;
    for (size_t i = 0; i < g->size; i++)
        g->used[g->columns[i]]++;
    return 0;
}

/* Returns the attribute of a category's value; NB_ATTRIBUTES_MOST for words and for values of
 * fields that came later. Values of a set count as words: a document may have any number of them.
 */
static uint32_t category_of(const struct nb_gathered *g, uint64_t id)
{
    if (nb_feature_field(id) != NB_FIELD_VALUE)
        return NB_ATTRIBUTES_MOST;
    uint32_t attribute = nb_feature_part(id) / 2;
    bool is_category = attribute < g->attributes.count &&
                       g->attributes.list[attribute].kind == NB_FIELD_KIND_CATEGORY;
    return is_category ? attribute : NB_ATTRIBUTES_MOST;
}

/* A value of a category and its row; by category, then by row. */
struct value {
    uint32_t attribute, row;
};

static int compare(const void *a, const void *b)
{
    const struct value *x = a;
    const struct value *y = b;
    if (x->attribute != y->attribute)
        return x->attribute < y->attribute ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

static void add_column(struct nb_gathered *g, const struct nb_live *live, uint32_t row)
{
    g->used[row] = g->word_columns;
    g->word_rows[g->word_columns] = row;
    g->word_ids[g->word_columns++] = nb_model_row_id(live->counts, row);
}

static void add_categories(struct nb_gathered *g, const struct nb_live *live, struct value *values,
                           size_t count)
{
    qsort(values, count, sizeof *values, compare);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || values[i].attribute != values[i - 1].attribute)
            g->category[g->categories++] = g->word_columns;
        add_column(g, live, values[i].row);
    }
}

static int add_columns(struct nb_gathered *g, const struct nb_live *live, uint32_t least,
                       uint32_t most)
{
    struct value *values = malloc((g->rows + 1) * sizeof *values);
    size_t count = 0;
    g->word_rows = malloc((g->rows + 1) * sizeof *g->word_rows);
    g->word_ids = malloc((g->rows + 1) * sizeof *g->word_ids);
    if (g->word_rows == NULL || g->word_ids == NULL || values == NULL) {
        free(values);
        return NB_NO_MEMORY;
    }
    nb_model_read_lock(live->counts);
    for (uint32_t row = 0; row < g->rows; row++) {
        uint32_t used = g->used[row];
        g->used[row] = UINT32_MAX;
        uint32_t attribute =
            used == 0 ? NB_ATTRIBUTES_MOST : category_of(g, nb_model_row_id(live->counts, row));
        if (attribute == NB_ATTRIBUTES_MOST && used >= least && used <= most)
            add_column(g, live, row);
        else if (attribute != NB_ATTRIBUTES_MOST && used >= LEAST_OF_CATEGORY)
            values[count++] = (struct value){attribute, row};
    }
    g->words = g->word_columns;
    add_categories(g, live, values, count);
    nb_model_unlock(live->counts);
    free(values);
    return 0;
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* Leaves out fields whose numbers are all equal. */
static int add_scales(struct nb_gathered *g)
{
    struct nb_moments *moments = calloc(NB_ATTRIBUTES_MOST, sizeof *moments);
    g->scales = calloc(NB_ATTRIBUTES_MOST, sizeof *g->scales);
    if (moments == NULL || g->scales == NULL) {
        free(moments);
        return NB_NO_MEMORY;
    }
    for (size_t i = 0; i < g->found_count; i++)
        nb_moments_add(&moments[g->found[i].attribute], nb_decimal_fixed(g->found[i].number), 1, 1);
    for (uint32_t attribute = 0; attribute < NB_ATTRIBUTES_MOST; attribute++) {
        double variance = nb_moments_variance(&moments[attribute]);
        if (variance > 0)
            g->scales[g->scale_count++] =
                (struct nb_gathered_scale){attribute, moments[attribute], sqrt(variance)};
    }
    free(moments);
    return 0;
}

/* Sets the values of document `to`, whose numbers begin at *next; moves *next behind them. Returns
 * whether it has any. */
static bool take_values(struct nb_gathered *g, size_t document, size_t to, size_t *next)
{
    double *values = g->values + to * g->scale_count;
    bool has_values = false;
    for (uint32_t s = 0; s < g->scale_count; s++)
        values[s] = (double)NAN;
    for (; *next < g->found_count && g->found[*next].document == document; ++*next) {
        const struct nb_gathered_number *found = &g->found[*next];
        for (uint32_t s = 0; s < g->scale_count; s++) {
            const struct nb_gathered_scale *scale = &g->scales[s];
            if (scale->attribute != found->attribute)
                continue;
            values[s] = nb_moments_deviation(&scale->moments, nb_decimal_fixed(found->number)) /
                        scale->deviation;
            has_values = true;
        }
    }
    return has_values;
}

/* ---- the whole job --------------------------------------------------------------------------- */

static void keep_documents(struct nb_gathered *g)
{
    size_t size = 0;
    size_t count = 0;
    size_t next = 0;
    for (size_t d = 0, i = 0; d < g->count; d++) {
        size_t before = size;
        for (; i < g->begin[d + 1]; i++)
            if (g->used[g->columns[i]] != UINT32_MAX)
                g->columns[size++] = g->used[g->columns[i]];
        if (!take_values(g, d, count, &next) && size == before)
            continue;
        g->numbers[count++] = g->numbers[d];
        g->begin[count] = size; /* at most d + 1: entries read later are not overwritten */
    }
    assert(count <= g->count && size <= g->size);
    g->count = count;
    g->size = size;
}

int nb_gathered_choose(struct nb_gathered *g, const struct nb_live *live, uint32_t least,
                       uint32_t most, size_t cells_most, struct nb_error *error)
{
    if (g->count == 0)
        return 0;
    if (count_documents(g) != 0 || add_columns(g, live, least, most) != 0 || add_scales(g) != 0)
        return nb_error_no_memory(error);
    if (g->scale_count > cells_most / g->count)
        return nb_error_set(error, NB_TOO_LARGE,
                            "%zu documents with %u fields of numbers: at most %zu together",
                            g->count, g->scale_count, cells_most);
    g->values = malloc((g->count * g->scale_count + 1) * sizeof *g->values);
    if (g->values == NULL)
        return nb_error_no_memory(error);
    g->chosen_bytes = g->rows * (sizeof *g->used + sizeof *g->word_rows + sizeof *g->word_ids) +
                      g->count * g->scale_count * sizeof *g->values + g->size * sizeof *g->presence;
    keep_documents(g);
    g->presence = malloc((g->size + 1) * sizeof *g->presence);
    for (size_t i = 0; g->presence != NULL && i < g->size; i++)
        g->presence[i] = 1;
    return g->presence == NULL ? nb_error_no_memory(error) : 0;
}
