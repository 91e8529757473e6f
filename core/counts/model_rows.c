/* SPDX-License-Identifier: Apache-2.0
 *
 * Removes, drops and reuses rows. core/counts/model_find.c finds them.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/base/cache_line.h"
#include "core/counts/model.h"
#include "core/counts/model_private.h"

/* Runs of dropped rows below SHORT_RUN are short. They are reused when there are no long runs and 1
 * / SHORT_SHARE of all rows are dropped. */
enum { SHORT_RUN = 4, SHORT_SHARE = 3 };

uint64_t nb_model_row_id(const struct nb_model *model, uint32_t row)
{
    assert(row < nb_model_rows(model));
    return nb_model_packed(model, row)->id;
}

uint64_t nb_model_lost_rows(const struct nb_model *model)
{
    return model->lost_rows;
}

uint64_t nb_model_named_rows(const struct nb_model *model)
{
    return atomic_load_explicit(&model->named_rows, memory_order_acquire);
}

void nb_model_truncate(struct nb_model *model, uint32_t rows)
{
    nb_model_spare_growth(model, rows);
    nb_model_write_lock(model);
    for (uint32_t count = nb_model_rows(model); count > rows; count--) {
        const struct nb_packed_row *last = nb_model_packed(model, count - 1);
        assert(!nb_code_is_used(last->code) && !nb_model_is_dropped(last->id));
        nb_index_remove(&model->index, last->id, count - 1);
        model->renames++;
        model->lost_rows++;
        atomic_store_explicit(&model->row_count, count - 1, memory_order_release);
    }
    nb_model_unlock(model);
}

/* ---- dropping and reusing rows --------------------------------------------------------------- */

bool nb_model_row_is_unused(const struct nb_model *model, uint32_t row)
{
    return !nb_code_is_used(nb_model_packed(model, row)->code);
}

bool nb_model_have_features(const struct nb_model *model, const struct nb_row_count *counts,
                            size_t size)
{
    uint32_t rows = nb_model_rows(model);
    unsigned char *const *table = model->rows.table;
    for (size_t i = 0; i < size; i++) {
        assert(counts[i].row < rows);
        if (nb_model_is_dropped(nb_row_at(table, counts[i].row)->id))
            return false;
    }
    return true;
}

uint32_t nb_model_dropped_rows(const struct nb_model *model)
{
    return model->dropped_count;
}

static int reserve_dropped(struct nb_model *model, size_t rows)
{
    size_t before = model->dropped_room;
    if (nb_array_reserve(&model->dropped, &model->dropped_room, rows, sizeof *model->dropped) != 0)
        return NB_NO_MEMORY;
    atomic_fetch_add(&model->other_bytes, (model->dropped_room - before) * sizeof *model->dropped);
    return 0;
}

/* Under the write lock: other threads may look at the row. */
static void forget_id(struct nb_model *model, uint32_t row)
{
    struct nb_packed_row *r = nb_model_packed(model, row);
    assert(!nb_code_is_used(r->code) && !nb_model_is_dropped(r->id));
    nb_index_remove(&model->index, r->id, row);
    model->renames++;
    model->lost_rows++;
    r->id = NB_DROPPED_ID;
}

int nb_model_drop_row(struct nb_model *model, uint32_t row)
{
    assert(row < nb_model_rows(model));
    if (reserve_dropped(model, (size_t)model->dropped_count + 1) != 0)
        return NB_NO_MEMORY;
    nb_model_spare_growth(model, row);
    nb_model_write_lock(model);
    forget_id(model, row);
    nb_model_unlock(model);
    model->dropped[model->dropped_count++] = row;
    return 0;
}

int nb_model_name_row(struct nb_model *model, uint32_t row, uint64_t id)
{
    assert(nb_feature_has_field(id));
    if (nb_model_reserve_part(model, id) != 0)
        return NB_NO_MEMORY;
    nb_model_spare_growth(model, row);
    nb_model_write_lock(model);
    struct nb_packed_row *r = nb_model_packed(model, row);
    assert(!nb_code_is_used(r->code) && nb_model_is_dropped(r->id));
    model->renames++;
    r->id = id;
    nb_index_insert(&model->index, id, row);
    nb_model_note_named(model);
    nb_model_unlock(model);
    return 0;
}

void nb_model_undrop_row(struct nb_model *model, uint64_t id, uint32_t *row)
{
    assert(model->dropped_count > 0);
    *row = model->dropped[--model->dropped_count];
    (void)nb_model_name_row(model, *row, id); /* needs no memory: its part has had a row */
}

int nb_model_add_row(struct nb_model *model, uint64_t id, uint32_t *row)
{
    bool is_short = model->dropped_count <= model->dropped_short;
    bool waits = is_short && model->dropped_count < nb_model_rows(model) / SHORT_SHARE;
    int rc = model->dropped_count == 0 || waits ? nb_model_append(model, id, row) : NB_TOO_LARGE;
    if (rc != NB_TOO_LARGE || model->dropped_count == 0)
        return rc;
    if (nb_model_reserve_part(model, id) != 0)
        return NB_NO_MEMORY;
    nb_model_undrop_row(model, id, row);
    return 0;
}

void nb_model_return_rows(struct nb_model *model, uint32_t dropped)
{
    assert(dropped >= model->dropped_count && dropped <= model->dropped_room);
    for (uint32_t i = model->dropped_count; i < dropped; i++)
        nb_model_spare_growth(model, model->dropped[i]);
    nb_model_write_lock(model);
    while (model->dropped_count < dropped)
        forget_id(model, model->dropped[model->dropped_count++]);
    nb_model_unlock(model);
}

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* The end of the run that begins at index `i` of the sorted list. */
static uint32_t run_end(const struct nb_model *model, uint32_t i)
{
    uint32_t end = i + 1;
    while (end < model->dropped_count && model->dropped[end] == model->dropped[end - 1] + 1)
        end++;
    return end;
}

/* Moves short runs to the bottom; long runs are kept behind the list meanwhile. Without memory for
 * that, nothing is sorted, which only scatters rows. */
void nb_model_sort_dropped(struct nb_model *model)
{
    uint32_t count = model->dropped_count;
    uint32_t kept = 0;
    uint32_t put_off = 0;
    model->dropped_short = 0;
    if (count < 2 || reserve_dropped(model, (size_t)count * 2) != 0)
        return;
    qsort(model->dropped, count, sizeof *model->dropped, by_number);
    for (uint32_t i = 0, end; i < count; i = end) {
        end = run_end(model, i);
        bool is_short = end - i < SHORT_RUN;
        uint32_t *to = model->dropped + (is_short ? kept : count + put_off);
        memmove(to, model->dropped + i, (end - i) * sizeof *to);
        *(is_short ? &kept : &put_off) += end - i;
    }
    memcpy(model->dropped + kept, model->dropped + count, put_off * sizeof *model->dropped);
    model->dropped_short = kept;
}

int nb_model_collect_dropped(struct nb_model *model)
{
    uint32_t count = nb_model_rows(model);
    model->dropped_count = 0;
    for (uint32_t row = count; row > 0; row--) {
        if (!nb_model_is_dropped(nb_model_packed(model, row - 1)->id))
            continue;
        if (reserve_dropped(model, (size_t)model->dropped_count + 1) != 0)
            return NB_NO_MEMORY;
        model->dropped[model->dropped_count++] = row - 1;
    }
    nb_model_sort_dropped(model);
    return 0;
}

/* Labels: from name to number, and from number to name. */
enum { FIRST_LABELS = 4 };

static struct nb_string name_of(const struct nb_model *model, uint32_t label)
{
    return (struct nb_string){model->labels[label]->name, model->labels[label]->length};
}

static bool is_before(const void *of, size_t at, const void *name)
{
    const struct nb_model *model = of;
    return nb_string_compare(name_of(model, model->sorted[at]), *(const struct nb_string *)name) <
           0;
}

/* Returns the place of a name among the sorted names, or where it would be inserted. */
static uint32_t name_place(const struct nb_model *model, struct nb_string name, bool *there)
{
    uint32_t place = (uint32_t)nb_search(model, model->label_count, &name, is_before);
    *there =
        place < model->label_count && nb_string_same(name_of(model, model->sorted[place]), name);
    return place;
}

static int labels_grow(struct nb_model *model)
{
    uint32_t room = model->label_room == 0 ? FIRST_LABELS : model->label_room * 2;
    struct nb_label **labels = malloc(room * sizeof *labels);
    uint32_t *sorted = malloc(room * sizeof *sorted);
    if (labels == NULL || sorted == NULL) {
        free(labels);
        free(sorted);
        return NB_NO_MEMORY;
    }
    if (model->label_count != 0) {
        memcpy(labels, model->labels, model->label_count * sizeof *labels);
        memcpy(sorted, model->sorted, model->label_count * sizeof *sorted);
    }
    if (model->parts != NULL && nb_model_grow_parts(model, model->parts->count, room, false) != 0) {
        free(labels);
        free(sorted);
        return NB_NO_MEMORY;
    }
    struct nb_label **old_labels = model->labels;
    uint32_t *old_sorted = model->sorted;
    nb_model_write_lock(model);
    model->labels = labels;
    model->sorted = sorted;
    nb_model_unlock(model);
    free(old_labels);
    free(old_sorted);
    atomic_fetch_add(&model->other_bytes,
                     (room - model->label_room) * (sizeof *labels + sizeof *sorted));
    model->label_room = room;
    return 0;
}

static struct nb_label *label_new(struct nb_string name)
{
    struct nb_label *label = calloc(1, sizeof *label);
    char *copy = malloc(name.length + 1);
    if (label == NULL || copy == NULL) {
        free(label);
        free(copy);
        return NULL;
    }
    if (name.length != 0)
        memcpy(copy, name.bytes, name.length);
    copy[name.length] = '\0';
    label->name = copy;
    label->length = name.length;
    return label;
}

int nb_model_label(struct nb_model *model, struct nb_string name, uint32_t *label)
{
    bool there;
    uint32_t place = name_place(model, name, &there);
    if (there) {
        *label = model->sorted[place];
        return 0;
    }
    if (model->label_count >= NB_LABELS_MOST)
        return NB_TOO_LARGE;
    if (model->label_count == model->label_room && labels_grow(model) != 0)
        return NB_NO_MEMORY;
    struct nb_label *made = label_new(name);
    if (made == NULL)
        return NB_NO_MEMORY;
    uint32_t number = model->label_count;
    nb_model_write_lock(model);
    memmove(model->sorted + place + 1, model->sorted + place,
            (number - place) * sizeof *model->sorted);
    model->sorted[place] = number;
    model->labels[number] = made;
    model->label_count++;
    nb_model_next_generation(model);
    nb_model_unlock(model);
    atomic_fetch_add(&model->other_bytes, sizeof *made + name.length + 1);
    *label = number;
    return 0;
}

/* Removes the label from the list that is sorted by name. */
static void unsort(struct nb_model *model, uint32_t label)
{
    uint32_t at = 0;
    while (model->sorted[at] != label)
        at++;
    memmove(model->sorted + at, model->sorted + at + 1,
            (model->label_count - at - 1) * sizeof *model->sorted);
}

int nb_model_reserve_rename(struct nb_model *model, struct nb_string name)
{
    struct nb_label *made = label_new(name);
    if (made == NULL)
        return NB_NO_MEMORY;
    nb_label_free(model->spare);
    model->spare = made;
    return 0;
}

int nb_model_rename_label(struct nb_model *model, uint32_t label, struct nb_string name)
{
    bool there;
    uint32_t place = name_place(model, name, &there);
    assert(label < model->label_count && !there);
    struct nb_label *made = model->spare;
    if (made == NULL || !nb_string_same((struct nb_string){made->name, made->length}, name))
        made = label_new(name);
    else
        model->spare = NULL;
    if (made == NULL)
        return NB_NO_MEMORY;
    struct nb_label *old = model->labels[label];
    nb_model_write_lock(model);
    made->documents = old->documents;
    memcpy(made->occurrences, old->occurrences, sizeof made->occurrences);
    memcpy(made->presences, old->presences, sizeof made->presences);
    for (uint32_t at = 0; at < place; at++)
        if (model->sorted[at] == label) {
            place--; /* its own place becomes free */
            break;
        }
    unsort(model, label);
    memmove(model->sorted + place + 1, model->sorted + place,
            (model->label_count - place - 1) * sizeof *model->sorted);
    model->sorted[place] = label;
    model->labels[label] = made;
    nb_model_retire(model, old);
    nb_model_next_generation(model);
    nb_model_unlock(model);
    atomic_fetch_add(&model->other_bytes, sizeof *made + name.length + 1);
    return 0;
}

void nb_model_truncate_labels(struct nb_model *model, uint32_t labels)
{
    if (model->label_count <= labels)
        return;
    nb_model_write_lock(model);
    while (model->label_count > labels) {
        uint32_t last = model->label_count - 1;
        assert(model->labels[last]->documents == 0);
        unsort(model, last);
        nb_model_retire(model, model->labels[last]);
        model->label_count = last;
    }
    nb_model_next_generation(model);
    nb_model_unlock(model);
}

uint32_t nb_model_find_label(const struct nb_model *model, struct nb_string name)
{
    bool there;
    uint32_t place = name_place(model, name, &there);
    return there ? model->sorted[place] : UINT32_MAX;
}

uint32_t nb_model_label_count(const struct nb_model *model)
{
    return model->label_count;
}

struct nb_string nb_model_label_name(const struct nb_model *model, uint32_t label)
{
    assert(label < model->label_count);
    return name_of(model, label);
}

const uint32_t *nb_model_labels_sorted(const struct nb_model *model)
{
    return model->sorted;
}
