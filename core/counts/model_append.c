/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows are appended, one by one or as they are loaded.
 */
#include "core/counts/model.h"

#include <assert.h>

#include "core/counts/indexing.h"
#include "core/counts/model_private.h"

uint32_t nb_model_rows(const struct nb_model *model)
{
    return atomic_load_explicit(&model->row_count, memory_order_acquire);
}

/* An index that is made for the rows of a store has room for 1 / SPARE_SHARE more: else the first
 * new feature after a start would move all rows into another index. */
enum { SPARE_SHARE = 64 };

/* ---- the index ------------------------------------------------------------------------------- */

/* How many rows an index of `count` grows by. All are put in anew: a fifth makes each row move five
 * times while a model grows, a half twice. The index of a small model takes little memory, and a
 * model is small when it learns most that is new. */
static uint64_t index_step(uint64_t count)
{
    enum { SMALL = 1 << 20 };
    return (count < SMALL ? count / 2 : count / 5) + (uint64_t)1;
}

/* Gets a larger index of the first *rows rows: the one that another thread has made, or else an
 * empty one. */
static int make_larger(struct nb_model *model, uint64_t room, struct nb_index *larger,
                       uint32_t *rows)
{
    *rows = 0;
    atomic_fetch_sub(&model->other_bytes, nb_growth_memory(model->growth));
    if (model->growth != NULL && nb_growth_end(&model->growth, larger, rows) == 0) {
        if (larger->room >= room)
            return 0;
        nb_index_deinit(larger);
        *rows = 0;
    }
    return nb_index_init(larger, room);
}

/* From how many rows on another thread makes the next index; 0: a small one is not worth a thread.
 * It takes memory from then on, so that is not long before it is needed, though the writer may have
 * to wait for the rest. */
static uint64_t growth_from(uint64_t room)
{
    enum { LEAST = 2 << NB_ROW_SEGMENT_BITS, /* no row moves then */ LAST_SHARE = 64 };
    return room < LEAST ? 0 : room - room / LAST_SHARE;
}

/* A larger index beside the one in use, which readers go on using until the swap. */
static int index_grow(struct nb_model *model, uint64_t rows)
{
    struct nb_index larger;
    uint32_t done;
    int rc =
        make_larger(model, rows < NB_INDEX_ROWS_MOST ? rows : NB_INDEX_ROWS_MOST, &larger, &done);
    if (rc != 0)
        return rc;
    nb_index_put_rows(&larger, model->rows.table, done, nb_model_rows(model));
    struct nb_index old = model->index;
    nb_model_write_lock(model);
    model->index = larger;
    nb_model_unlock(model);
    model->growth_from = 0;
    atomic_fetch_add(&model->other_bytes, nb_index_memory(&larger) - nb_index_memory(&old));
    nb_index_deinit(&old);
    return 0;
}

/* Starts a thread that makes the next index, if it will soon be needed. */
static void expect_growth(struct nb_model *model)
{
    uint32_t rows = nb_model_rows(model);
    uint64_t room = model->index.room + index_step(model->index.room);
    if (rows != model->growth_from || model->growth != NULL || room > NB_INDEX_ROWS_MOST)
        return;
    assert(model->rows.segment_count > 1);
    model->growth = nb_growth_begin(model->rows.table, rows, room);
    atomic_fetch_add(&model->other_bytes, nb_growth_memory(model->growth));
}

void nb_model_spare_growth(struct nb_model *model, uint32_t row)
{
    size_t bytes = nb_growth_memory(model->growth);
    nb_growth_spare(&model->growth, row);
    if (model->growth == NULL)
        atomic_fetch_sub(&model->other_bytes, bytes);
}

/* ---- one by one ------------------------------------------------------------------------------ */

/* Room in the segments, which takes the write lock where readers would notice. */
static int reserve_segments(struct nb_model *model, uint64_t rows)
{
    int rc = nb_segments_reserve(&model->rows, rows, model->lock);
    return rc != 0 ? rc : nb_wides_reserve(&model->wides, model->rows.segment_count, model->lock);
}

int nb_model_reserve(struct nb_model *model, uint32_t rows)
{
    int rc = reserve_segments(model, rows);
    return rc != 0 || rows <= model->index.room ? rc : index_grow(model, rows + rows / SPARE_SHARE);
}

/* Room for `more` rows behind the `count` that there are. */
static int reserve_rows(struct nb_model *model, uint32_t count, uint32_t more)
{
    uint64_t rows = (uint64_t)count + more;
    int rc = 0;
    if (rows > NB_INDEX_ROWS_MOST)
        return NB_TOO_LARGE;
    if (nb_segments_room(&model->rows) < rows)
        rc = reserve_segments(model, rows);
    if (rc == 0 && rows > model->index.room)
        rc = index_grow(model, rows - 1 + index_step(count));
    else
        return rc;
    model->growth_from = growth_from(model->index.room);
    return rc;
}

int nb_model_reserve_part(struct nb_model *model, uint64_t id)
{
    if (nb_feature_field(id) != NB_FIELD_VALUE)
        return 0;
    unsigned count = nb_model_parts(model), needed = (nb_feature_part(id) | 1) + 1;
    bool is_number = nb_feature_is_number(id);
    if (needed <= count && (!is_number || model->parts->moments != NULL))
        return 0;
    return nb_model_grow_parts(model, needed > count ? needed : count, model->label_room,
                               is_number);
}

int nb_model_append(struct nb_model *model, uint64_t id, uint32_t *row)
{
    uint32_t count = nb_model_rows(model);
    assert(nb_feature_has_field(id));
    int rc = nb_model_reserve_part(model, id);
    if (rc == 0)
        rc = reserve_rows(model, count, 1);
    if (rc != 0)
        return rc;
    assert(nb_segments_room(&model->rows) > count && model->index.room > count);
    *nb_model_packed(model, count) = (struct nb_packed_row){.id = id};
    atomic_store_explicit(&model->row_count, count + 1, memory_order_release);
    nb_index_insert(&model->index, id, count);
    nb_model_note_named(model);
    expect_growth(model);
    *row = count;
    return 0;
}

void nb_model_expect(const struct nb_model *model, uint64_t id)
{
    nb_index_ask(&model->index, id);
}

void nb_model_expect_again(const struct nb_model *model, uint64_t id)
{
    nb_index_ask_further(&model->index, id);
}

int nb_model_append_dropped(struct nb_model *model)
{
    uint32_t count = nb_model_rows(model);
    int rc = reserve_rows(model, count, 1); /* the index has a place for each row */
    if (rc != 0)
        return rc;
    *nb_model_packed(model, count) = (struct nb_packed_row){.id = NB_DROPPED_ID};
    atomic_store_explicit(&model->row_count, count + 1, memory_order_release);
    return 0;
}

/* ---- many at once ---------------------------------------------------------------------------- */

/* Reserves room for rows that another thread puts into the index, which has room for the announced
 * number. */
static int reserve_many(struct nb_model *model, uint32_t count, size_t more)
{
    if (model->indexing == NULL)
        return more < NB_NO_ROW ? reserve_rows(model, count, (uint32_t)more) : NB_TOO_LARGE;
    uint64_t room = nb_segments_room(&model->rows);
    if (room > model->index.room)
        room = model->index.room;
    return more <= room - count ? 0 : NB_CORRUPT;
}

int nb_model_append_all(struct nb_model *model, const uint64_t *ids, size_t size)
{
    uint32_t start = nb_model_rows(model);
    int rc = reserve_many(model, start, size);
    for (size_t i = 0; rc == 0 && i < size; i++) {
        if (!nb_model_is_dropped(ids[i]))
            rc = nb_feature_has_field(ids[i]) ? nb_model_reserve_part(model, ids[i]) : NB_CORRUPT;
        *nb_model_packed(model, start + (uint32_t)i) = (struct nb_packed_row){.id = ids[i]};
    }
    if (rc != 0)
        return rc;
    uint32_t end = start + (uint32_t)size;
    atomic_store_explicit(&model->row_count, end, memory_order_release);
    if (model->indexing != NULL) {
        nb_indexing_tell(model->indexing, end);
        return 0;
    }
    return nb_index_rows(model, start, end) ? 0 : NB_CORRUPT;
}

int nb_model_begin_loading(struct nb_model *model, uint32_t rows)
{
    assert(nb_model_rows(model) == 0 && model->indexing == NULL);
    int rc = nb_model_reserve(model, rows);
    if (rc == 0 && rows >= NB_INDEXING_LEAST)
        model->indexing = nb_indexing_begin(model);
    return rc;
}

int nb_model_end_loading(struct nb_model *model)
{
    struct nb_indexing *indexing = model->indexing;
    model->indexing = NULL;
    return indexing == NULL || nb_indexing_end(indexing, nb_model_rows(model)) ? 0 : NB_CORRUPT;
}
