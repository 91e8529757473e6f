/* SPDX-License-Identifier: Apache-2.0 */
#include "core/writer/stage/staging.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"

/* Copies the known rows of delta.add, because they are about to move: a second try must find them
 * as they were. */
static int put_aside(const struct nb_stage *s)
{
    struct nb_submitted *change = s->change;
    size_t size = change->known_count;
    if (change->known != NULL || size == 0)
        return 0;
    change->known = malloc(size * sizeof *change->known);
    if (change->known == NULL)
        return NB_NO_MEMORY;
    memcpy(change->known, change->delta.add.counts, size * sizeof *change->known);
    return 0;
}

/* Whether the rows of delta.add begin with the rows found when the document was looked up. */
static bool are_in_place(const struct nb_stage *s)
{
    return s->change->known == NULL;
}

/* Whether the rows found when the document was looked up still belong to its features. */
static bool are_known(const struct nb_stage *s)
{
    const struct nb_model *counts = s->live->counts;
    const struct nb_row_count *known = s->change->delta.add.counts;
    uint64_t sum = 0;
    for (size_t i = 0; i < s->change->known_count; i++) {
        if (known[i].row >= nb_model_rows(counts))
            return false;
        sum += nb_known_share(nb_model_row_id(counts, known[i].row), known[i].count);
    }
    return sum == s->change->known_sum;
}

/* Rows may be lost after the document was looked up. Dropping features does no harm, because no
 * document has them. After a failed commit the same changes are made again, and mostly get the same
 * rows. */
static int check_known(struct nb_stage *s)
{
    return are_known(s)
               ? 0
               : nb_stage_refuse(s, NB_IO, "a commit failed meanwhile: send the document again");
}

/* The features that had rows when the document was looked up. A document that was recalled from the
 * history is copied: its delta may be of another kind at the second try. */
static int take_known(struct nb_stage *s)
{
    struct nb_submitted *change = s->change;
    struct nb_rows *rows = &change->delta.add;
    if (rows->counts == NULL && change->known != NULL && !change->is_recalled) {
        *rows = (struct nb_rows){.counts = change->known, .room = nb_submitted_size(change)};
        change->known = NULL;
    }
    if (nb_array_reserve(&rows->counts, &rows->room, nb_submitted_size(change),
                         sizeof *rows->counts) != 0)
        return NB_NO_MEMORY;
    assert(change->known_count == 0 || rows->counts != NULL);
    if (change->known != NULL && change->known_count > 0)
        memcpy(rows->counts, change->known, change->known_count * sizeof *rows->counts);
    rows->size = change->known_count;
    return change->lost_rows == nb_model_lost_rows(s->live->counts) ? 0 : check_known(s);
}

static int new_row(struct nb_stage *s, uint32_t place, uint32_t *row)
{
    struct nb_staging *m = s->memory;
    const struct nb_pending *p = &s->change->others[place];
    int rc = nb_model_add_row(s->live->counts, p->id, row);
    if (rc == NB_TOO_LARGE)
        return nb_stage_refuse(s, rc, "the model has 4 billion features and takes no new ones");
    if (rc != 0)
        return rc;
    assert(m->new_count < m->new_room);
    m->foreseen_count += p->is_foreseen;
    m->fresh[m->new_count++] = (struct nb_fresh){.row = *row, .place = place};
    return 0;
}

/* Whether only earlier changes of this batch have brought features since the look-up: then the
 * foreseen features are new. */
static bool is_alone(const struct nb_stage *s)
{
    const struct nb_submitted *change = s->change;
    struct nb_naming *naming = &s->item->batch->naming;
    if (!naming->has_begun)
        *naming = (struct nb_naming){true, false, change->names, change->names};
    naming->is_mixed = naming->is_mixed || change->names != naming->before ||
                       nb_model_named_rows(s->live->counts) != naming->names ||
                       nb_model_lost_rows(s->live->counts) != change->lost_rows;
    return !naming->is_mixed;
}

/* Looks up the features that had no rows, in memory->rows: other changes may have brought them. */
static int look_up_others(struct nb_stage *s)
{
    struct nb_staging *m = s->memory;
    const struct nb_pending *others = s->change->others;
    size_t size = s->change->other_count;
    size_t count = 0;
    bool alone = is_alone(s);
    if (nb_array_reserve(&m->known, &m->known_room, size, sizeof *m->known) != 0 ||
        nb_array_reserve(&m->rows, &m->rows_room, size * 3, sizeof *m->rows) != 0)
        return NB_NO_MEMORY;
    uint32_t *found = m->rows + size;
    uint32_t *places = m->rows + size * 2;
    for (size_t i = 0; i < size; i++) {
        m->rows[i] = NB_NO_ROW;
        m->known[count] = (struct nb_feature){.id = others[i].id};
        places[count] = (uint32_t)i;
        count += !(alone && others[i].is_foreseen);
    }
    nb_model_find_all(s->live->counts, m->known, count, found);
    for (size_t k = 0; k < count; k++)
        m->rows[places[k]] = found[k];
    return 0;
}

static void add(struct nb_stage *s, uint32_t row, uint32_t count)
{
    struct nb_rows *rows = &s->change->delta.add;
    assert(rows->size < rows->room);
    rows->counts[rows->size++] = (struct nb_row_count){.row = row, .count = count};
}

/* Merges `found`, which is sorted and has no row in common with `rows`, into `rows`. */
static void merge(struct nb_rows *rows, const struct nb_row_count *found, size_t count)
{
    size_t known = rows->size;
    rows->size += count;
    assert(rows->size <= rows->room);
    for (struct nb_row_count *to = rows->counts + rows->size; count > 0;) {
        bool is_known = known > 0 && rows->counts[known - 1].row > found[count - 1].row;
        *--to = is_known ? rows->counts[known - 1] : found[count - 1];
        known -= is_known;
        count -= !is_known;
    }
}

/* Rows that were given since the look-up are behind those that there were, unless they were dropped
 * before. */
static bool is_behind_known(const struct nb_stage *s, uint32_t row)
{
    size_t known = s->change->known_count;
    return known == 0 || s->change->delta.add.counts[known - 1].row < row;
}

/* Returns the list of the features that get new rows: their indexes in change->others. */
static uint32_t *new_places(const struct nb_stage *s)
{
    return s->memory->rows + s->change->other_count * 2;
}

/* Takes the features that have rows by now, and lists the places of the *fresh others, without a
 * branch, because the processor cannot predict which is which. The rows are sorted in separate
 * memory, so that the bag, which the group keeps until its commit, needs no room for that. */
static int take_found(struct nb_stage *s, size_t *fresh)
{
    const struct nb_submitted *change = s->change;
    struct nb_staging *m = s->memory;
    size_t count = 0;
    *fresh = 0;
    if (change->other_count == 0)
        return 0;
    if (nb_array_reserve(&m->found, &m->found_room, change->other_count * 2, sizeof *m->found) != 0)
        return NB_NO_MEMORY;
    uint32_t *places = new_places(s);
    for (size_t i = 0; i < change->other_count; i++) {
        bool is_found = m->rows[i] != NB_NO_ROW;
        m->found[count] =
            (struct nb_row_count){.row = m->rows[i], .count = change->others[i].count};
        places[*fresh] = (uint32_t)i;
        count += is_found;
        *fresh += !is_found;
    }
    nb_row_counts_sort(m->found, count, m->found + change->other_count);
    if (count > 0 && !is_behind_known(s, m->found[0].row) && put_aside(s) != 0)
        return NB_NO_MEMORY;
    merge(&s->change->delta.add, m->found, count);
    return 0;
}

/* Prefetches places in the index for rows that are assigned soon: for the `nth` of `count`, and a
 * second time for one that was prefetched some rows ago. */
static void expect_rows(const struct nb_stage *s, size_t count, size_t nth)
{
    const struct nb_pending *others = s->change->others;
    const uint32_t *places = new_places(s);
    size_t again =
        nth - (NB_MODEL_EXPECTED -
               NB_MODEL_EXPECTED_AGAIN); /* wraps around to a very large number at first */
    if (nth < count)
        nb_model_expect(s->live->counts, others[places[nth]].id);
    if (again < count)
        nb_model_expect_again(s->live->counts, others[places[again]].id);
}

/* Assigns rows to the `count` other features. The rows mostly follow all existing rows, and so are
 * in order. */
static int take_new(struct nb_stage *s, size_t count)
{
    const struct nb_pending *others = s->change->others;
    const uint32_t *places = new_places(s);
    struct nb_staging *m = s->memory;
    uint32_t row = 0;
    if (nb_array_reserve(&m->fresh, &m->new_room, m->new_count + count, sizeof *m->fresh) != 0)
        return NB_NO_MEMORY;
    for (size_t nth = 0; nth < NB_MODEL_EXPECTED; nth++)
        expect_rows(s, count, nth);
    for (size_t k = 0; k < count; k++) {
        expect_rows(s, count, k + NB_MODEL_EXPECTED);
        int rc = new_row(s, places[k], &row);
        if (rc != 0 || s->refused)
            return rc;
        add(s, row, others[places[k]].count);
    }
    if (m->new_count == 0 || m->fresh[0].row >= s->rows_before)
        return 0;
    if (put_aside(s) != 0)
        return NB_NO_MEMORY;
    nb_rows_sort(&s->change->delta.add);
    return 0;
}

/* Most of a bag was encoded by the trainer's thread. */
static int encode_bag(struct nb_stage *s)
{
    const struct nb_rows *rows = &s->change->delta.add;
    struct nb_buffer *bag = &s->memory->bag;
    return are_in_place(s) ? nb_bag_end_encoding(&s->change->known_bag, rows, bag)
                           : nb_bag_encode(rows, bag);
}

int nb_stage_find_rows(struct nb_stage *s)
{
    size_t fresh;
    int rc = take_known(s);
    if (rc == 0 && !s->refused)
        rc = look_up_others(s);
    if (rc != 0 || s->refused)
        return rc;
    rc = take_found(s, &fresh);
    if (rc == 0)
        rc = take_new(s, fresh);
    s->item->batch->naming.names = nb_model_named_rows(s->live->counts);
    return rc != 0 || s->refused ? rc : encode_bag(s);
}

/* Whether the texts of features are stored. A dump has the ids of features under the key that
 * makes ids of documents. If features have another key here, their ids for a dump are made from
 * their texts. */
static bool keeps_texts(const struct nb_stage *s)
{
    return s->group->engine->settings.keep_words || s->live->key != s->live->id_key;
}

static int by_fresh_row(const void *a, const void *b)
{
    uint32_t x = ((const struct nb_fresh *)a)->row;
    uint32_t y = ((const struct nb_fresh *)b)->row;
    return (x > y) - (x < y);
}

/* Reused rows are listed one by one; appended rows follow from the first one. */
static int encode_rows(struct nb_staging *m)
{
    struct nb_rows rows = {0};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < m->new_count; i++)
        rc = nb_rows_add(&rows, m->fresh[i].row, 1);
    if (rc == 0)
        rc = nb_bag_encode(&rows, &m->new_rows);
    nb_rows_deinit(&rows);
    return rc;
}

/* Whether the new features are those that were foreseen, in their order. */
static bool are_foreseen(const struct nb_stage *s)
{
    const struct nb_staging *m = s->memory;
    return m->new_count == s->change->foreseen_count && m->new_count == m->foreseen_count &&
           m->new_rows.length == 0;
}

static int encode(struct nb_stage *s)
{
    struct nb_staging *m = s->memory;
    if (nb_array_reserve(&m->ids, &m->ids_room, m->new_count, sizeof *m->ids) != 0 ||
        nb_array_reserve(&m->texts, &m->texts_room, m->new_count, sizeof *m->texts) != 0)
        return NB_NO_MEMORY;
    for (size_t i = 0; i < m->new_count; i++) {
        uint32_t place = m->fresh[i].place;
        m->ids[i] = s->change->others[place].id;
        m->texts[i] = nb_submitted_text(s->change, place);
    }
    int rc = nb_features_encode(s->group->engine->coder, m->ids, keeps_texts(s) ? m->texts : NULL,
                                m->new_count, &m->features);
    m->coded = nb_buffer_string(&m->features);
    return rc;
}

int nb_stage_encode_features(struct nb_stage *s)
{
    struct nb_staging *m = s->memory;
    int rc = 0;
    if (m->new_count == 0)
        return 0;
    if (m->fresh[0].row < s->rows_before) { /* dropped rows are taken first */
        qsort(m->fresh, m->new_count, sizeof *m->fresh, by_fresh_row);
        rc = encode_rows(m);
    }
    bool foreseen = are_foreseen(s);
    atomic_store(&s->group->engine->foresees, foreseen);
    if (rc != 0 || !foreseen || s->change->foreseen_texts.length == 0)
        return rc != 0 ? rc : encode(s);
    m->coded = nb_buffer_string(&s->change->foreseen_texts);
    return 0;
}
