/* SPDX-License-Identifier: Apache-2.0
 *
 * Appends rows, one by one or many at once while a model is loaded; removes, drops and reuses
 * them. core/counts/model.c finds them.
 */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/counts/model.h"
#include "core/counts/model_private.h"

/* ---- many at once ----------------------------------------------------------------------------
 *
 * When ids are appended to 10^7 rows, one id in twenty shares its tag in the index with another id.
 * Checking at once whether both are the same would mean waiting for a row from memory. So such rows
 * are noted and prefetched, and compared some hundred rows later.
 */
enum { SUSPECTS = 64 };

struct suspects {
    struct {
        uint32_t row, other;
    } pairs[SUSPECTS];
    size_t count;
};

/* Whether all noted rows have different ids from the rows that they were noted for. */
static bool are_different(const struct nb_model *model, struct suspects *s)
{
    bool different = true;
    for (size_t i = 0; i < s->count; i++)
        different = different && nb_model_packed(model, s->pairs[i].row)->id !=
                                     nb_model_packed(model, s->pairs[i].other)->id;
    s->count = 0;
    return different;
}

/* Notes the rows of the index that may have the id of `row`. Returns false if a row that had to be
 * compared at once has that id. */
static bool note_suspects(const struct nb_model *model, uint32_t row, struct suspects *s)
{
    const struct nb_index *index = &model->index;
    uint64_t id = nb_model_packed(model, row)->id;
    uint64_t where = nb_index_where(index, id);
    uint32_t tag = nb_index_tag(index, where);
    uint64_t bucket = where >> 32;
    bool different = true;
    for (uint64_t nth = 0; nth <= index->bucket_count; nth++) {
        const struct nb_bucket *b = &index->buckets[bucket];
        unsigned places = nb_bucket_places(b, index->row_bits, tag);
        for (; places != 0; places &= places - 1) {
            if (s->count == SUSPECTS)
                different = are_different(model, s) && different;
            s->pairs[s->count].row = row;
            s->pairs[s->count].other = nb_bucket_row(b, index->row_bits, places);
            __builtin_prefetch(nb_model_packed(model, s->pairs[s->count++].other));
        }
        if (!nb_bucket_is_passed(b, tag))
            break;
        bucket = nb_index_further(index, bucket, tag, nth);
    }
    return different;
}

NB_PREFETCHING void prefetch_bucket(const struct nb_model *model, uint32_t row, uint32_t end)
{
    if (row < end)
        __builtin_prefetch(
            &model->index.buckets[nb_index_home(&model->index, nb_model_packed(model, row)->id)],
            1);
}

/* Puts rows into the index. Returns false if an id occurs twice. */
static bool index_rows(struct nb_model *model, uint32_t start, uint32_t end)
{
    struct suspects suspects = {.count = 0};
    bool different = true;
    for (uint32_t row = start; row < start + NB_MODEL_AHEAD; row++)
        prefetch_bucket(model, row, end);
    for (uint32_t row = start; row < end; row++) {
        uint64_t id = nb_model_packed(model, row)->id;
        prefetch_bucket(model, row + NB_MODEL_AHEAD, end);
        if (nb_model_is_dropped(id))
            continue;
        different = note_suspects(model, row, &suspects) && different;
        nb_index_insert(&model->index, id, row);
    }
    return are_different(model, &suspects) && different;
}

/* ---- the indexing thread -----------------------------------------------------------------------
 *
 * Putting loaded rows into the index is half the time of a start, so for a large model a second
 * thread does it while the first one loads. Between indexing_begin and indexing_end the loading
 * thread must not touch the index or the ids of rows that it has passed to indexing_tell. The rows
 * and the index have room for all rows, so that neither moves.
 */

/* The thread is woken once per this many rows: waking it for each range of a store would cost more
 * than it saves. */
enum { AT_ONCE = 1 << 16 };

struct nb_indexing {
    struct nb_model *model; /* borrowed; the thread writes only to its index */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t more;
    uint32_t end;   /* `lock` protects it: rows with smaller numbers may be put into the index */
    uint32_t told;  /* the appending thread's copy of `end` */
    bool ends;      /* `lock` protects it: no more rows will come */
    bool different; /* no id occurred twice; only the thread uses it until it has ended */
};

/* Waits for rows from `start` on. Returns the end of these rows; `start`: none will come. */
static uint32_t wait_for_rows(struct nb_indexing *x, uint32_t start)
{
    pthread_mutex_lock(&x->lock);
    while (x->end == start && !x->ends)
        pthread_cond_wait(&x->more, &x->lock);
    uint32_t end = x->end;
    pthread_mutex_unlock(&x->lock);
    return end;
}

static void *indexing_main(void *user)
{
    struct nb_indexing *x = user;
    uint32_t start = 0;
    for (uint32_t end; (end = wait_for_rows(x, start)) != start; start = end)
        x->different = index_rows(x->model, start, end) && x->different;
    return NULL;
}

/* Starts a thread, which borrows the model. NULL: no thread could start. */
static struct nb_indexing *indexing_begin(struct nb_model *model)
{
    struct nb_indexing *x = malloc(sizeof *x);
    if (x == NULL)
        return NULL;
    *x = (struct nb_indexing){.model = model, .different = true};
    pthread_mutex_init(&x->lock, NULL);
    pthread_cond_init(&x->more, NULL);
    if (pthread_create(&x->thread, NULL, indexing_main, x) == 0)
        return x;
    pthread_cond_destroy(&x->more);
    pthread_mutex_destroy(&x->lock);
    free(x);
    return NULL;
}

static void tell(struct nb_indexing *x, uint32_t end, bool ends)
{
    pthread_mutex_lock(&x->lock);
    x->end = x->told = end;
    x->ends = ends;
    pthread_cond_signal(&x->more);
    pthread_mutex_unlock(&x->lock);
}

/* Tells the thread that all rows below `end` have their ids. */
static void indexing_tell(struct nb_indexing *x, uint32_t end)
{
    assert(end >= x->told);
    if (end - x->told >= AT_ONCE)
        tell(x, end, false);
}

/* Waits until all rows below `end` are in the index, and frees `x`. Returns false if an id occurs
 * twice. */
static bool indexing_end(struct nb_indexing *x, uint32_t end)
{
    tell(x, end, true);
    pthread_join(x->thread, NULL);
    bool different = x->different;
    pthread_cond_destroy(&x->more);
    pthread_mutex_destroy(&x->lock);
    free(x);
    return different;
}

uint32_t nb_model_rows(const struct nb_model *model)
{
    return atomic_load_explicit(&model->row_count, memory_order_acquire);
}

/* An index made for the rows of a store has room for 1 / SPARE_SHARE more rows. Otherwise the first
 * new feature after a start would move all rows into a larger index. */
enum { SPARE_SHARE = 64 };

/* ---- the index ------------------------------------------------------------------------------- */

/* Returns by how many rows an index of `count` rows grows. Growing inserts all rows anew: with
 * steps of a fifth each row is inserted about five times while a model grows, with steps of a half
 * twice. Small models take the larger steps: their index takes little memory, and they learn most
 * that is new. */
static uint64_t index_step(uint64_t count)
{
    enum { SMALL = 1 << 20 };
    return (count < SMALL ? count / 2 : count / 5) + (uint64_t)1;
}

/* Sets *larger to a larger index that has the first *rows rows: the one that the growth thread has
 * made, or else an empty one. */
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

/* Returns at how many rows a thread begins to make the next index; 0: never, because a small index
 * is not worth a thread. The next index takes memory from then on. So the thread starts shortly
 * before the index is needed, even if the writer may have to wait for its end. */
static uint64_t growth_from(uint64_t room)
{
    enum {
        LEAST = 2 << NB_ROW_SEGMENT_BITS,
        /* from there on rows no longer move */ LAST_SHARE = 64
    };
    return room < LEAST ? 0 : room - room / LAST_SHARE;
}

/* Builds a larger index beside the present one, which readers use until the swap. */
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

/* Makes room in the segments; takes the write lock where readers would notice. */
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

/* Makes room for `more` rows behind the existing `count` rows. */
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

/* Makes room for `more` rows. If another thread fills the index, the room announced at
 * nb_model_begin_loading must suffice. */
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
        indexing_tell(model->indexing, end);
        return 0;
    }
    return index_rows(model, start, end) ? 0 : NB_CORRUPT;
}

int nb_model_begin_loading(struct nb_model *model, uint32_t rows)
{
    assert(nb_model_rows(model) == 0 && model->indexing == NULL);
    int rc = nb_model_reserve(model, rows);
    if (rc == 0 && rows >= NB_INDEXING_LEAST)
        model->indexing = indexing_begin(model);
    return rc;
}

int nb_model_end_loading(struct nb_model *model)
{
    struct nb_indexing *indexing = model->indexing;
    model->indexing = NULL;
    return indexing == NULL || indexing_end(indexing, nb_model_rows(model)) ? 0 : NB_CORRUPT;
}

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

static bool is_before(const void *of, size_t at, const void *name)
{
    const struct nb_model *model = of;
    return nb_string_compare(nb_model_label_name(model, model->sorted[at]),
                             *(const struct nb_string *)name) < 0;
}

/* Returns the place of a name among the sorted names, or where it would be inserted. */
static uint32_t name_place(const struct nb_model *model, struct nb_string name, bool *there)
{
    uint32_t place = (uint32_t)nb_search(model, model->label_count, &name, is_before);
    *there = place < model->label_count &&
             nb_string_same(nb_model_label_name(model, model->sorted[place]), name);
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
