/* SPDX-License-Identifier: Apache-2.0
 *
 * Adds documents to the counts and removes them, cell by cell.
 */
#include "core/counts/model.h"

#include <assert.h>

#include "core/base/array.h"
#include "core/counts/counts.h"
#include "core/counts/model_private.h"
#include "core/counts/pairs.h"

/* ---- pairs of values ------------------------------------------------------------------------- */

const struct nb_pairs *nb_model_pairs(const struct nb_model *model)
{
    return model->pairs;
}

void nb_model_put_pairs(struct nb_model *model, struct nb_pairs **pairs)
{
    struct nb_pairs *old = model->pairs;
    if (old == NULL && *pairs == NULL)
        return;
    size_t bytes = nb_pairs_memory(*pairs);
    nb_model_write_lock(model);
    model->pairs = *pairs;
    nb_model_next_generation(model);
    nb_model_unlock(model);
    atomic_fetch_add(&model->other_bytes, bytes - nb_pairs_memory(old));
    *pairs = NULL;
    nb_pairs_free(&old);
}

void nb_model_pair_values(const struct nb_model *model, const struct nb_pairs *pairs,
                          const struct nb_row_count *counts, size_t size,
                          struct nb_pair_values *values)
{
    values->count = 0;
    for (size_t i = 0; i < size; i++) {
        uint64_t id = nb_model_packed(model, counts[i].row)->id;
        if (nb_feature_field(id) == NB_FIELD_VALUE && !nb_part_is_presence(nb_feature_part(id)))
            nb_pair_values_add(values, pairs, counts[i].row, nb_feature_part(id) / 2);
    }
}

bool nb_model_pairs_fit(const struct nb_model *model, const struct nb_row_count *counts,
                        size_t size)
{
    struct nb_pair_values values;
    if (model->pairs == NULL)
        return true;
    nb_model_pair_values(model, model->pairs, counts, size, &values);
    return nb_pairs_fit(model->pairs, &values);
}

/* Makes room for a document. Returns as nb_pairs_reserve. */
static int reserve_pairs(struct nb_model *model, const struct nb_row_count *counts, size_t size)
{
    struct nb_pair_values values;
    if (model->pairs == NULL)
        return 0;
    size_t before = nb_pairs_memory(model->pairs);
    nb_model_pair_values(model, model->pairs, counts, size, &values);
    int rc = nb_pairs_reserve(model->pairs, &values);
    atomic_fetch_add(&model->other_bytes, nb_pairs_memory(model->pairs) - before);
    return rc;
}

/* Adds a document to the pairs, or removes it, after reserve_pairs. */
static void add_pairs(struct nb_model *model, uint32_t label, const struct nb_row_count *counts,
                      size_t size, int sign)
{
    struct nb_pair_values values;
    if (model->pairs == NULL)
        return;
    nb_model_pair_values(model, model->pairs, counts, size, &values);
    nb_pairs_add(model->pairs, label, &values, sign);
}

/* ---- documents ------------------------------------------------------------------------------- */

/* Adds to the sums what a cell of a feature has gained, or with sign -1 lost. */
static inline void add_sums(struct nb_model *model, uint64_t id, uint32_t label,
                            uint64_t occurrences, uint64_t presences, int sign)
{
    struct nb_label *l = model->labels[label];
    unsigned field = nb_feature_field(id);
    bool is_value = field == NB_FIELD_VALUE;
    struct nb_part_sum *part =
        is_value ? nb_parts_at(model->parts, label, nb_feature_part(id)) : NULL;
    *(is_value ? &part->occurrences : &l->occurrences[field]) +=
        sign > 0 ? occurrences : -occurrences;
    *(is_value ? &part->presences : &l->presences[field]) += sign > 0 ? presences : -presences;
    if (is_value && nb_feature_is_number(id))
        nb_moments_add(nb_parts_moments(model->parts, label, nb_feature_part(id)),
                       nb_decimal_fixed(id), presences, sign);
}

static inline void add_vocabulary(struct nb_model *model, uint64_t id, uint64_t change)
{
    unsigned field = nb_feature_field(id);
    *(field == NB_FIELD_VALUE ? &model->parts->vocabulary[nb_feature_part(id)]
                              : &model->vocabulary[field]) += change;
}

/* Counts one more document in a cell of the row, and makes the cell if it is missing. Not inlined,
 * because the loop seldom needs it and would lose registers to it. */
static __attribute__((noinline)) int row_add(struct nb_model *model, uint32_t number,
                                             uint32_t label, uint32_t count)
{
    struct nb_row row = nb_model_row(model, number);
    uint16_t code = nb_model_packed(model, number)->code;
    bool there;
    if (nb_code_is_wide(code) &&
        nb_cells_count(&model->pool, nb_wides_at(model->wides.segments, number, code), label,
                       count))
        return 0;
    uint32_t place = nb_row_find(&model->pool, row, label, &there);
    struct nb_cell cell = {.label = label};
    if (there)
        cell = nb_row_cell(&model->pool, row, place);
    if (cell.occurrences > UINT32_MAX - count)
        return NB_TOO_LARGE;
    cell.occurrences += count;
    cell.documents++; /* cannot overflow: each document has at least one occurrence */
    int rc = nb_wides_reserve_cells(&model->wides, number);
    if (rc == 0)
        rc = there ? nb_row_set(&model->pool, &row, place, cell)
                   : nb_row_insert(&model->pool, &row, place, cell);
    if (rc == 0)
        nb_wides_store(&model->wides, nb_model_packed(model, number), number, row.cells);
    return rc;
}

/* What a document adds to the sums of fields. */
struct gains {
    uint64_t occurrences[NB_FIELDS], presences[NB_FIELDS], vocabulary[NB_FIELDS];
    size_t fresh_values; /* new values of attributes; the sums of parts already include them */
};

/* Adds the gains to the sums. Returns how many rows were outside the vocabulary. */
static size_t add_gains(struct nb_model *model, uint32_t label, const struct gains *gains)
{
    struct nb_label *l = model->labels[label];
    size_t fresh = gains->fresh_values;
    for (unsigned field = 0; field < NB_FIELDS; field++) {
        l->occurrences[field] += gains->occurrences[field];
        l->presences[field] += gains->presences[field];
        model->vocabulary[field] += gains->vocabulary[field];
        if (nb_field_is_token((enum nb_field)field))
            fresh += (size_t)gains->vocabulary[field];
    }
    return fresh;
}

/* The data of the loop over a document's rows: a copy that stores to rows cannot change. */
struct adding {
    struct nb_model *model;
    struct nb_counts_rows rows;
    const struct nb_pair_place *places; /* of the label */
    uint32_t label;
};

/* Adds a value of an attribute to the sums. */
static __attribute__((noinline)) void add_value(const struct adding *a, uint64_t id, uint32_t count,
                                                bool empty, struct gains *gains)
{
    add_vocabulary(a->model, id, empty);
    add_sums(a->model, id, a->label, count, 1, 1);
    gains->fresh_values += empty && nb_feature_is_token(id);
}

/* Adds a counted row of any field to the gains, or to the sums if it is a value of an attribute. */
static inline void add_gain(const struct adding *a, uint64_t id, uint32_t count, bool empty,
                            struct gains *gains)
{
    unsigned field = nb_feature_field(id);
    if (__builtin_expect(field >= NB_FIELDS, 0)) {
        add_value(a, id, count, empty, gains);
        return;
    }
    gains->occurrences[field] += count;
    gains->presences[field]++;
    gains->vocabulary[field] += empty;
}

static inline int cell_add(const struct adding *a, struct nb_row_count c, struct gains *gains)
{
    struct nb_packed_row *row = nb_row_at(a->rows.table, c.row);
    bool empty = !nb_code_is_used(row->code);
    if (!nb_pair_count(a->places, row, nb_wides_at(a->rows.segments, c.row, row->code), c.count)) {
        int rc = row_add(a->model, c.row, a->label, c.count);
        if (rc != 0)
            return rc;
    }
    add_gain(a, row->id, c.count, empty, gains);
    return 0;
}

static void cell_take(struct nb_model *model, uint32_t label, struct nb_row_count c)
{
    struct nb_packed_row *packed = nb_model_packed(model, c.row);
    struct nb_row row = nb_model_row(model, c.row);
    bool there;
    uint32_t place = nb_row_find(&model->pool, row, label, &there);
    assert(there);
    struct nb_cell cell = nb_row_cell(&model->pool, row, place);
    assert(cell.occurrences >= c.count && cell.documents >= 1);
    cell.occurrences -= c.count;
    cell.documents--;
    assert((cell.occurrences == 0) == (cell.documents == 0));
    /* Counts only decrease here, so neither call needs memory. */
    if (cell.occurrences == 0)
        nb_row_remove(&model->pool, &row, place);
    else
        (void)nb_row_set(&model->pool, &row, place, cell);
    nb_wides_store(&model->wides, packed, c.row, row.cells);
    add_vocabulary(model, row.id, nb_row_is_used(row) ? 0 : UINT64_MAX);
    add_sums(model, row.id, label, c.count, 1, -1);
}

NB_PREFETCHING void prefetch_row(const struct nb_model *model, const struct nb_row_count *counts,
                                 size_t size, size_t i)
{
    if (i < size)
        nb_packed_row_prefetch_to_write(nb_model_packed(model, counts[i].row));
}

/* Adds all rows of a bag or, if one does not fit, none. Under the write lock. */
static int add_all(struct nb_model *model, uint32_t label, const struct nb_row_count *counts,
                   size_t size, size_t *fresh)
{
    const struct adding a = {model, nb_counts_rows(model), nb_pair_places(label), label};
    struct gains gains = {0};
    size_t done = 0;
    int rc = 0;
    for (; rc == 0 && done < size; done += rc == 0) {
        prefetch_row(model, counts, size, done + NB_MODEL_AHEAD);
        rc = cell_add(&a, counts[done], &gains);
    }
    *fresh = add_gains(model, label, &gains);
    while (rc != 0 && done > 0)
        cell_take(model, label, counts[--done]);
    return rc;
}

int nb_model_add(struct nb_model *model, uint32_t label, const struct nb_row_count *counts,
                 size_t size, int sign, size_t *fresh)
{
    assert(label < model->label_count && (sign == 1 || sign == -1));
    int rc = 0;
    size_t new_tokens = 0;
    for (size_t i = 0; i < NB_MODEL_AHEAD; i++)
        prefetch_row(model, counts, size, i);
    nb_model_write_lock(model);
    if (sign > 0) {
        rc = reserve_pairs(model, counts, size);
        if (rc == 0)
            rc = add_all(model, label, counts, size, &new_tokens);
    } else {
        for (size_t i = 0; i < size; i++) {
            prefetch_row(model, counts, size, i + NB_MODEL_AHEAD);
            cell_take(model, label, counts[i]);
        }
    }
    if (rc == 0) {
        add_pairs(model, label, counts, size, sign);
        nb_model_next_generation(model);
    }
    nb_model_unlock(model);
    if (rc == 0 && fresh != NULL)
        *fresh = new_tokens;
    return rc;
}

static void add_documents(struct nb_model *model, uint32_t label, int sign)
{
    assert(sign > 0 || model->labels[label]->documents > 0);
    model->labels[label]->documents += (uint64_t)(int64_t)sign;
    model->documents += (uint64_t)(int64_t)sign;
}

int nb_model_change(struct nb_model *model, const struct nb_model_change *change, size_t *fresh)
{
    int rc = 0;
    *fresh = 0;
    nb_model_write_lock(model);
    if (change->add_label != UINT32_MAX) {
        rc = reserve_pairs(model, change->add, change->add_size);
        if (rc == 0)
            rc = add_all(model, change->add_label, change->add, change->add_size, fresh);
        if (rc == 0) {
            add_documents(model, change->add_label, 1);
            add_pairs(model, change->add_label, change->add, change->add_size, 1);
        }
    }
    if (rc == 0 && change->take_label != UINT32_MAX) {
        for (size_t i = 0; i < change->take_size; i++) {
            prefetch_row(model, change->take, change->take_size, i + NB_MODEL_AHEAD);
            cell_take(model, change->take_label, change->take[i]);
        }
        add_documents(model, change->take_label, -1);
        add_pairs(model, change->take_label, change->take, change->take_size, -1);
    }
    if (rc == 0)
        nb_model_next_generation(model);
    nb_model_unlock(model);
    return rc;
}

void nb_model_without(struct nb_model *model, uint32_t label, const struct nb_row_count *counts,
                      size_t size, void (*call)(void *user), void *user)
{
    size_t fresh = 0;
    assert(label < model->label_count && model->labels[label]->documents > 0);
    nb_model_write_lock(model);
    for (size_t i = 0; i < size; i++)
        cell_take(model, label, counts[i]);
    add_documents(model, label, -1);
    add_pairs(model, label, counts, size, -1);
    nb_model_next_generation(model);
    call(user);
    int rc = reserve_pairs(model, counts, size);
    if (rc == 0)
        rc = add_all(model, label, counts, size, &fresh);
    /* Putting the document back reuses the memory that taking it out freed. If a run had become
     * shorter and there is no memory for a longer one, the next start replays the ledger. */
    assert(rc == 0);
    add_documents(model, label, 1);
    add_pairs(model, label, counts, size, 1);
    nb_model_next_generation(model);
    nb_model_unlock(model);
    (void)rc;
}

size_t nb_model_cells(const struct nb_model *model, uint32_t row, struct nb_cell *cells,
                      size_t room)
{
    assert(row < nb_model_rows(model));
    struct nb_row r = nb_model_row(model, row);
    uint32_t size = nb_row_size(&model->pool, r);
    for (uint32_t i = 0; i < size && i < room; i++)
        cells[i] = nb_row_cell(&model->pool, r, i);
    return size;
}

uint32_t nb_model_count(const struct nb_model *model, uint32_t row, uint32_t label)
{
    bool there;
    struct nb_row r = nb_model_row(model, row);
    uint32_t place = nb_row_find(&model->pool, r, label, &there);
    return there ? nb_row_cell(&model->pool, r, place).occurrences : 0;
}

/* Whether stored cells are valid. Damaged ones have unknown or unordered labels, or zeros. */
static bool cells_are_possible(const struct nb_model *model, const struct nb_cell *cells,
                               size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (cells[i].label >= model->label_count || (i > 0 && cells[i].label <= cells[i - 1].label))
            return false;
        if (cells[i].documents == 0 || cells[i].occurrences < cells[i].documents)
            return false;
    }
    return true;
}

/* Stores all cells of a row, or none. */
static int put_cells(struct nb_cell_pool *pool, struct nb_row *row, const struct nb_cell *cells,
                     size_t size)
{
    int rc = 0;
    uint32_t done = 0;
    while (rc == 0 && done < size) {
        rc = nb_row_insert(pool, row, done, cells[done]);
        done += rc == 0;
    }
    while (rc != 0 && done > 0)
        nb_row_remove(pool, row, --done);
    return rc;
}

/* Sets the cells of a row that has none. Nearly all fit in the row itself. */
static int put_row(struct nb_model *model, uint32_t number, const struct nb_cell *cells,
                   size_t size)
{
    struct nb_packed_row *packed = nb_model_packed(model, number);
    struct nb_row row = {.id = packed->id};
    assert(!nb_code_is_used(packed->code));
    if (nb_code_of_pair(cells, size, &packed->code))
        return 0;
    bool is_packed = nb_row_pack(&row, cells, size);
    int rc = nb_wides_reserve_cells(&model->wides, number);
    if (rc == 0 && !is_packed)
        rc = put_cells(&model->pool, &row, cells, size);
    if (rc == 0)
        nb_wides_store(&model->wides, packed, number, row.cells);
    return rc;
}

int nb_model_set_cells(struct nb_model *model, uint32_t row, const struct nb_cell *cells,
                       size_t size)
{
    assert(row < nb_model_rows(model));
    if (!cells_are_possible(model, cells, size))
        return NB_CORRUPT;
    int rc = put_row(model, row, cells, size);
    uint64_t id = nb_model_packed(model, row)->id;
    for (size_t i = 0; rc == 0 && i < size; i++)
        add_sums(model, id, cells[i].label, cells[i].occurrences, cells[i].documents, 1);
    add_vocabulary(model, id, rc == 0 && size != 0);
    nb_model_next_generation(model);
    return rc;
}
