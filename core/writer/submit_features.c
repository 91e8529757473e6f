/* SPDX-License-Identifier: Apache-2.0 */
#include "core/writer/submit_features.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/model/learner.h"
#include "core/writer/remember.h"

enum { LEAST_SLOTS = 1024, KEPT_SLOTS = 1 << 18, AHEAD = 16 };

void nb_foreseen_free(struct nb_foreseen **foreseen)
{
    struct nb_foreseen *f = *foreseen;
    *foreseen = NULL;
    if (f == NULL)
        return;
    free(f->slots);
    free(f->ids);
    free(f->texts);
    free(f);
}

/* Clearing slots takes longer than allocating new ones if few of them were used. */
void nb_foreseen_put_back(struct nb_engine *engine, struct nb_foreseen **foreseen)
{
    enum { SLOTS_A_FEATURE = 16 };
    struct nb_foreseen *f = *foreseen;
    *foreseen = NULL;
    if (f != NULL && f->room <= KEPT_SLOTS && f->room / SLOTS_A_FEATURE <= f->count) {
        if (f->room > 0)
            memset(f->slots, 0, f->room * sizeof *f->slots);
        f->count = 0;
        f = atomic_exchange(&engine->spares.foreseen, f);
    }
    nb_foreseen_free(&f);
}

size_t nb_foreseen_memory(const struct nb_foreseen *foreseen)
{
    return foreseen == NULL ? 0 : foreseen->count * 4 * sizeof *foreseen->slots;
}

static int take(struct nb_batch *batch)
{
    if (batch->foreseen == NULL)
        batch->foreseen = atomic_exchange(&batch->engine->spares.foreseen, NULL);
    if (batch->foreseen == NULL)
        batch->foreseen = calloc(1, sizeof *batch->foreseen);
    return batch->foreseen == NULL ? NB_NO_MEMORY : 0;
}

/* ---- ids of the batch ------------------------------------------------------------------------ */

/* The half of an id that the table stores, which so takes half of the processor's cache. Its bits
 * depend on the key, so that nobody can choose ids that need the same slot. Two features with the
 * same half count as one, and the forecast is wrong: in a batch of 500 mails this happens to one
 * mail in two hundred. */
static uint32_t half_of(uint64_t id)
{
    return (uint32_t)(id >> NB_FEATURE_OPEN_BITS);
}

/* Numbers of attributes are used as ids directly, and could be chosen so that all need the same
 * slot. So they are never foreseen. */
static bool is_hash(uint64_t id)
{
    return half_of(id) != 0 && !nb_feature_is_number(id);
}

/* The slots form groups of four, which are searched together. The bits of a half give its first
 * group; the half is in this group or in the next one that had room for it. */
enum { GROUP = 4 };

static uint32_t *group_of(const struct nb_foreseen *f, uint32_t half)
{
    return &f->slots[half & (f->room - 1) & ~(size_t)(GROUP - 1)];
}

NB_PREFETCHING void prefetch_group(const struct nb_foreseen *f, const struct nb_pending *others,
                                   size_t i, size_t count)
{
    if (i < count)
        nb_prefetch_to_write(group_of(f, half_of(others[i].id)));
}

/* Returns the slots of the group that hold the half, a bit for each. */
static inline unsigned slots_with(const uint32_t group[GROUP], uint32_t half)
{
    unsigned same = 0;
    for (unsigned i = 0; i < GROUP; i++)
        same |= (unsigned)(group[i] == half) << i;
    return same;
}

/* Inserts the half, for which there is room. Returns false if it was there already. The processor
 * cannot predict this, so there is no branch: the half is written in either case, to the slot where
 * it is or will be. */
static inline bool insert(struct nb_foreseen *f, uint32_t half)
{
    uint32_t *group = group_of(f, half);
    uint32_t *end = f->slots + f->room;
    unsigned same = slots_with(group, half), empty = slots_with(group, 0);
    while (__builtin_expect((same | empty) == 0, 0)) {
        group = group + GROUP == end ? f->slots : group + GROUP;
        same = slots_with(group, half);
        empty = slots_with(group, 0);
    }
    group[__builtin_ctz(same != 0 ? same : empty)] = half;
    f->count += same == 0;
    assert(f->count < f->room);
    return same == 0;
}

static int make_room(struct nb_foreseen *f, size_t count)
{
    struct nb_foreseen larger = {.room = f->room == 0 ? LEAST_SLOTS : f->room};
    if ((f->count + count) * 2 <= f->room)
        return 0;
    while ((f->count + count) * 2 > larger.room)
        larger.room *= 2;
    larger.slots = calloc(larger.room, sizeof *larger.slots);
    if (larger.slots == NULL)
        return NB_NO_MEMORY;
    for (size_t i = 0; i < f->room; i++)
        if (f->slots[i] != 0)
            (void)insert(&larger, f->slots[i]);
    free(f->slots);
    f->slots = larger.slots;
    f->room = larger.room;
    return 0;
}

/* Marks a feature, and lists it if it is foreseen. The processor cannot predict this, so there is
 * no branch: every feature is written, and the next one overwrites it if it is not foreseen. There
 * is room for it. The text is found before the bit is written, because both lie in the same word,
 * and a load waits for a store to a part of the word. */
static void mark(struct nb_foreseen *f, struct nb_submitted *change, size_t i, bool is_foreseen)
{
    size_t at = change->foreseen_count;
    f->ids[at] = change->others[i].id;
    f->texts[at] = nb_submitted_text(change, i);
    change->others[i].is_foreseen = is_foreseen;
    change->foreseen_count += is_foreseen;
}

/* Marks the features of the first change of a batch, which is mostly the only one. The features are
 * not kept, so nothing is foreseen for later changes. */
static void mark_all(struct nb_foreseen *f, struct nb_submitted *change)
{
    for (size_t i = 0; i < change->other_count; i++)
        mark(f, change, i, !change->others[i].has_row);
}

static int mark_new(struct nb_foreseen *f, struct nb_submitted *change)
{
    struct nb_pending *others = change->others;
    int rc = make_room(f, change->other_count);
    for (size_t i = 0; rc == 0 && i < AHEAD; i++)
        prefetch_group(f, others, i, change->other_count);
    for (size_t i = 0; rc == 0 && i < change->other_count; i++) {
        prefetch_group(f, others, i + AHEAD, change->other_count);
        mark(f, change, i,
             !others[i].has_row && is_hash(others[i].id) && insert(f, half_of(others[i].id)));
    }
    return rc;
}

/* Marks and lists the features of the change that are likely to be new. */
static int mark_features(struct nb_batch *batch, struct nb_submitted *change)
{
    if (change->quarantined || change->other_count == 0 || (batch->single && batch->size > 0))
        return 0;
    int rc = take(batch);
    struct nb_foreseen *f = batch->foreseen;
    if (rc == 0)
        rc = nb_array_reserve(&f->ids, &f->ids_room, change->other_count, sizeof *f->ids);
    if (rc == 0)
        rc = nb_array_reserve(&f->texts, &f->texts_room, change->other_count, sizeof *f->texts);
    if (rc != 0)
        return rc;
    if (!batch->single)
        return mark_new(f, change);
    mark_all(f, change);
    return 0;
}

/* ---- texts ----------------------------------------------------------------------------------- */

/* One coder is kept for the next change: making one takes as long as using it. */
static int encode(struct nb_engine *engine, const struct nb_foreseen *f,
                  struct nb_submitted *change)
{
    struct nb_features_coder *coder = atomic_exchange(&engine->spares.coder, NULL);
    if (coder == NULL)
        coder = nb_features_coder_new();
    if (coder == NULL)
        return NB_NO_MEMORY;
    int rc = nb_features_encode(coder, f->ids, f->texts, change->foreseen_count,
                                &change->foreseen_texts);
    coder = atomic_exchange(&engine->spares.coder, coder);
    nb_features_coder_free(&coder);
    return rc;
}

/* Marks the features of the change that are likely to be new. Encodes their texts, unless the model
 * keeps none, or the forecast for the last change was wrong. Returns 0 or NB_NO_MEMORY. */
static int foresee(struct nb_batch *batch, struct nb_submitted *change)
{
    int rc = mark_features(batch, change);
    if (rc != 0 || change->foreseen_count == 0 || !atomic_load(&batch->engine->spares.foresees) ||
        !nb_remember_keeps_texts(batch->engine, batch->live))
        return rc;
    return encode(batch->engine, batch->foreseen, change);
}

enum { OFFSET_MOST = (1 << 30) - 1 }; /* of a text; the limits of the tokenizer are far lower */

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

static int make_room_for_rows(struct nb_bag_rows *r, size_t size)
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
 * them before the change is applied. So does a change to a model that is not stored yet, if nodes
 * share their changes: the features of other changes may be visible here before their commit, and
 * be deleted with the model before this change comes and makes the model anew. (Once the model is
 * stored, the change says which model of this name it is for.) */
static bool keeps_all_texts(const struct nb_batch *batch, const struct nb_submitted *change)
{
    return change->quarantined ||
           (batch->engine->settings.shared && !atomic_load(&batch->live->persisted));
}

/* Which documents are judged: all of a small model, then every second, by its length, so that the
 * choice depends on the document alone. Sets *counts_twice. */
static bool is_judged(const struct nb_batch *batch, const struct nb_submitted *change,
                      bool *counts_twice)
{
    enum { SMALL = 500 };
    *counts_twice = nb_model_documents_all(batch->live->counts) >= SMALL;
    return !nb_submitted_is_untrain(change) &&
           !(*counts_twice && batch->scratch.positions % 2 != 0);
}

/* Judges the document as a verdict would now, and its worst passage, from which the model learns
 * the margins (core/stack/passages.h). Under the model's lock. Returns 0 or NB_NO_MEMORY. */
static int judge(struct nb_batch *batch, const struct nb_published *published,
                 const struct nb_bag_rows *r, struct nb_submitted *change)
{
    const struct nb_bag *bag = &batch->scratch;
    const struct nb_found found = {.rows = r->rows};
    struct nb_stack_inputs *inputs = &batch->scratch_inputs;
    uint32_t place = nb_published_judged_place(published, batch->live->counts);
    int rc = 0;
    nb_stack_weights_read_lock(published->weights);
    struct nb_stack_judged judged = {0};
    if (place != UINT32_MAX && is_judged(batch, change, &judged.counts_twice)) {
        inputs->wants_passages = inputs->is_brief = true;
        nb_stack_inputs_twin(inputs, published->weights, false);
        rc = nb_stack_inputs_found(published->stack, batch->live->counts, bag->features, bag->size,
                                   &found, inputs, NULL);
        if (rc == 0)
            rc = nb_stack_judge(published->stack, published->weights, inputs, place, &judged);
        change->judged = rc == 0 ? nb_stack_judged_pack(judged) : 0;
    }
    nb_stack_weights_unlock(published->weights);
    return rc == NB_NO_MEMORY ? rc : 0;
}

/* Finds the rows of the features, and judges the document. Returns 0 or NB_NO_MEMORY. A row that is
 * in use now is still valid when the writer applies the change, because the batch has pinned it,
 * unless a commit fails meanwhile. */
static int find_rows(struct nb_batch *batch, const struct nb_bag *bag, const struct nb_bag_rows *r,
                     struct nb_submitted *change)
{
    const struct nb_model *model = batch->live->counts;
    if (keeps_all_texts(batch, change)) {
        for (size_t i = 0; i < bag->size; i++) {
            r->unused[i] = true;
            r->rows[i] = NB_NO_ROW;
        }
        return 0;
    }
    struct nb_published *published = nb_live_settings(batch->live);
    nb_model_read_lock(model);
    change->names = nb_model_named_rows(
        model); /* read before the search, because rows are assigned meanwhile */
    nb_model_find_use(model, bag->features, bag->size, r->rows, r->unused);
    change->lost_rows = nb_model_lost_rows(model);
    int rc = change->is_judged ? 0 : judge(batch, published, r, change);
    nb_model_unlock(model);
    nb_published_release(&published);
    return rc;
}

/* Lists the features with rows in change->known, by row, and the others in r->spare, backwards from
 * bag->size on. The processor cannot predict which is which, so there is no branch. `by_place`: for
 * a feature with a row, notes its place in the bag instead of its count. */
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
 * and writes the beginning of the stored bag. */
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

/* Copies the texts of the other features one after the other. This is a separate loop without a
 * call for each text, because most are shorter than a block. `length` is the total length. */
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

/* Writes the other features. A feature that no document has carries its text even if it has a row,
 * because the row may be dropped before the writer applies the change. */
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
    int rc = make_room_for_rows(r, bag->size);
    if (rc == 0)
        rc = find_rows(batch, bag, r, change);
    if (rc == 0)
        rc = take_known(batch, r, change);
    if (rc == 0)
        rc = take_others(bag, r, change);
    if (rc == 0)
        rc = foresee(batch, change);
    change->positions = bag->positions;
    change->truncated = bag->truncated;
    return rc;
}
