/* SPDX-License-Identifier: Apache-2.0 */
#include "core/writer/submit/features.h"

#include <assert.h>
#include <stdlib.h>

#include "core/writer/submit/foresee.h"

enum { OFFSET_MOST = (1 << 30) - 1 }; /* of a text: the limits of the tokenizer are far below */

int nb_submitted_add(struct nb_submitted *change, uint64_t id, uint32_t count,
                     struct nb_string text)
{
    if (change->texts.length > OFFSET_MOST)
        return NB_NO_MEMORY;
    change->others[change->other_count++] = (struct nb_pending){
        .id = id, .count = count, .text_offset = (uint32_t)change->texts.length & OFFSET_MOST};
    return nb_buffer_append(&change->texts, text.bytes, text.length);
}

void nb_bag_rows_deinit(struct nb_bag_rows *rows)
{
    free(rows->rows);
    free(rows->unused);
    free(rows->scratch);
    free(rows->spare);
    nb_buffer_deinit(&rows->bag);
    *rows = (struct nb_bag_rows){0};
}

static int make_room(struct nb_bag_rows *r, size_t size)
{
    if (size <= r->room)
        return 0;
    size_t room = size + size / 2;
    nb_bag_rows_deinit(r);
    r->rows = malloc(room * sizeof *r->rows);
    r->unused = malloc(room * sizeof *r->unused);
    r->scratch = malloc(room * sizeof *r->scratch);
    r->spare = malloc(room * sizeof *r->spare);
    if (r->rows == NULL || r->unused == NULL || r->scratch == NULL || r->spare == NULL)
        return NB_NO_MEMORY;
    r->room = room;
    return 0;
}

/* A change in the quarantine keeps the texts of all its features, because the model may drop any of
 * them before the change is applied. So does one to a model that is not stored yet, where nodes
 * share their changes: what others have brought may be seen here before it is committed, and be
 * deleted with the model before this change comes, which then makes the model anew. (Once it is
 * stored the change says which one of this name it is for.) */
static bool keeps_all_texts(const struct nb_batch *batch, const struct nb_submitted *change)
{
    return change->quarantined ||
           (batch->engine->settings.shared && !atomic_load(&batch->live->persisted));
}

/* Finds the rows of the features. A row that is in use now is still valid when the writer applies
 * the change, because the batch has pinned it, unless a commit fails meanwhile. */
static void find_rows(const struct nb_batch *batch, const struct nb_bag *bag,
                      const struct nb_bag_rows *r, struct nb_submitted *change)
{
    const struct nb_model *model = batch->live->counts;
    if (keeps_all_texts(batch, change)) {
        for (size_t i = 0; i < bag->size; i++) {
            r->unused[i] = true;
            r->rows[i] = NB_NO_ROW;
        }
        return;
    }
    nb_model_read_lock(model);
    change->names = nb_model_named_rows(model); /* before: rows are given meanwhile */
    nb_model_find_use(model, bag->features, bag->size, r->rows, r->unused);
    change->lost_rows = nb_model_lost_rows(model);
    nb_model_unlock(model);
}

/* Lists the features with rows in change->known, by row, and the others in r->spare, backwards from
 * bag->size on. Which are which cannot be foreseen, so there is no branch. `by_place`: instead of
 * the count of one with a row its place in the bag is noted. */
static void divide(const struct nb_bag *bag, const struct nb_bag_rows *r, bool by_place,
                   struct nb_submitted *change)
{
    size_t known = 0;
    uint64_t sum = 0;
    for (size_t i = 0; i < bag->size; i++) {
        const struct nb_feature *f = &bag->features[i];
        uint32_t place = (uint32_t)i, count = by_place ? place : f->count;
        bool is_known = !r->unused[i];
        change->known[known] = (struct nb_row_count){.row = r->rows[i], .count = count};
        r->spare[bag->size - 1 - (i - known)] =
            (struct nb_row_count){.row = r->rows[i], .count = place};
        sum += nb_known_share(f->id, f->count) * is_known;
        known += is_known;
    }
    nb_row_counts_sort(change->known, known, r->scratch);
    change->known_count = known;
    change->known_sum = sum;
}

/* Keeps the ids of the features with rows, whose places are noted, for the stream that nodes share.
 */
static int keep_ids(const struct nb_bag *bag, struct nb_submitted *change)
{
    change->known_ids = malloc((change->known_count + 1) * sizeof *change->known_ids);
    if (change->known_ids == NULL)
        return NB_NO_MEMORY;
    for (size_t k = 0; k < change->known_count; k++) {
        const struct nb_feature *f = &bag->features[change->known[k].count];
        change->known_ids[k] = f->id;
        change->known[k].count = f->count;
    }
    return 0;
}

/* Writes the features with rows in ascending order, so that the writer can take them as they are,
 * and the beginning of the bag that is stored. */
static int take_known(const struct nb_batch *batch, struct nb_bag_rows *r,
                      struct nb_submitted *change)
{
    const struct nb_bag *bag = &batch->scratch;
    bool keeps_ids = batch->engine->settings.shared;
    change->known = malloc((bag->size + 1) * sizeof *change->known);
    if (change->known == NULL)
        return NB_NO_MEMORY;
    divide(bag, r, keeps_ids, change);
    if (keeps_ids && keep_ids(bag, change) != 0)
        return NB_NO_MEMORY;
    return nb_bag_begin_encoding(change->known, change->known_count, &r->bag, &change->known_bag);
}

/* Copies the texts of the others one behind the other: a loop of its own, without a call for each,
 * because most are shorter than a block. `length` is that of all. */
static int take_texts(const struct nb_bag *bag, const struct nb_bag_rows *r, size_t length,
                      struct nb_submitted *change)
{
    size_t room = length + NB_BAG_BLOCK;
    char *bytes = length <= OFFSET_MOST ? malloc(room) : NULL;
    if (bytes == NULL)
        return NB_NO_MEMORY;
    for (size_t k = 0; k < change->other_count; k++) {
        struct nb_string text = bag->texts[r->spare[bag->size - 1 - k].count];
        nb_bag_copy(bytes + change->others[k].text_offset, text.bytes, text.length);
    }
    change->texts = (struct nb_buffer){.bytes = bytes, .length = length, .capacity = room};
    return 0;
}

/* Writes the others. One that no document has carries its text even if it has a row, because the
 * row may be dropped before the writer applies the change. */
static int take_others(const struct nb_bag *bag, const struct nb_bag_rows *r,
                       struct nb_submitted *change)
{
    size_t count = bag->size - change->known_count, length = 0;
    change->others = malloc((count + 1) * sizeof *change->others);
    if (change->others == NULL)
        return NB_NO_MEMORY;
    for (size_t k = 0; k < count; k++) {
        struct nb_row_count place = r->spare[bag->size - 1 - k];
        const struct nb_feature *f = &bag->features[place.count];
        change->others[k] = (struct nb_pending){.id = f->id,
                                                .count = f->count,
                                                .text_offset = (uint32_t)length & OFFSET_MOST,
                                                .has_row = place.row != NB_NO_ROW};
        length += bag->texts[place.count].length;
    }
    change->other_count = count;
    return take_texts(bag, r, length, change);
}

int nb_submitted_features(struct nb_batch *batch, struct nb_submitted *change)
{
    const struct nb_bag *bag = &batch->scratch;
    struct nb_bag_rows *r = &batch->scratch_rows;
    int rc = make_room(r, bag->size);
    if (rc == 0) {
        find_rows(batch, bag, r, change);
        rc = take_known(batch, r, change);
    }
    if (rc == 0)
        rc = take_others(bag, r, change);
    if (rc == 0)
        rc = nb_foresee(batch, change);
    change->positions = bag->positions;
    change->truncated = bag->truncated;
    return rc;
}
