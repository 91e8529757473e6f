/* SPDX-License-Identifier: Apache-2.0 */
#include "core/submit/foresee.h"

#include <assert.h>
#include <stdlib.h>

#include "core/base/array.h"
#include "core/base/prefetch.h"
#include "core/remember/note.h"

void nb_foreseen_deinit(struct nb_foreseen *foreseen)
{
    free(foreseen->slots);
    free(foreseen->ids);
    free(foreseen->texts);
    *foreseen = (struct nb_foreseen){0};
}

/* ---- ids of the batch ------------------------------------------------------------------------ */

enum { LEAST_SLOTS = 1024, AHEAD = 16 };

/* Half of an id takes half of the cache. Two features that share it, of one mail in two hundred in
 * a batch of 500, are one: then what is foreseen is wrong. */
static uint32_t half_of(uint64_t id)
{
    return (uint32_t)id;
}

/* Numbers of attributes are ids as they are, and could be chosen so that all want the same slot. So
 * they are never foreseen. */
static bool is_hash(uint64_t id)
{
    return half_of(id) != 0 && !nb_feature_is_number(id);
}

static uint32_t *slot_of(const struct nb_foreseen *f, uint32_t half)
{
    return &f->slots[half & (f->room - 1)];
}

NB_PREFETCHING void prefetch_slot(const struct nb_foreseen *f, const struct nb_pending *others,
                                  size_t i, size_t count)
{
    if (i < count)
        __builtin_prefetch(slot_of(f, half_of(others[i].id)), 1);
}

/* Returns false if it was there. There is room for it. */
static bool insert(struct nb_foreseen *f, uint32_t half)
{
    uint32_t *slot = slot_of(f, half);
    uint32_t *end = f->slots + f->room;
    for (; *slot != 0; slot = slot + 1 == end ? f->slots : slot + 1)
        if (*slot == half)
            return false;
    *slot = half;
    f->count++;
    assert(f->count < f->room);
    return true;
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

/* The features of the first change of a batch that has mostly no other: they are not kept, so of
 * changes that follow nothing is foreseen. */
static int mark_all(const struct nb_batch *batch, struct nb_submitted *change)
{
    if (batch->size > 0)
        return 0;
    for (size_t i = 0; i < change->other_count; i++) {
        change->others[i].is_foreseen = !change->others[i].has_row;
        change->foreseen_count += change->others[i].is_foreseen;
    }
    return 0;
}

static int mark_new(struct nb_foreseen *f, struct nb_submitted *change)
{
    struct nb_pending *others = change->others;
    int rc = make_room(f, change->other_count);
    for (size_t i = 0; rc == 0 && i < AHEAD; i++)
        prefetch_slot(f, others, i, change->other_count);
    for (size_t i = 0; rc == 0 && i < change->other_count; i++) {
        prefetch_slot(f, others, i + AHEAD, change->other_count);
        others[i].is_foreseen =
            !others[i].has_row && is_hash(others[i].id) && insert(f, half_of(others[i].id));
        change->foreseen_count += others[i].is_foreseen;
    }
    return rc;
}

/* ---- texts ----------------------------------------------------------------------------------- */

/* One coder is kept for the next change: making one takes as long as using it. */
static int encode(struct nb_engine *engine, const struct nb_foreseen *f,
                  struct nb_submitted *change)
{
    struct nb_features_coder *coder = atomic_exchange(&engine->spare_coder, NULL);
    if (coder == NULL)
        coder = nb_features_coder_new();
    if (coder == NULL)
        return NB_NO_MEMORY;
    int rc = nb_features_encode(coder, f->ids, f->texts, change->foreseen_count,
                                &change->foreseen_texts);
    coder = atomic_exchange(&engine->spare_coder, coder);
    nb_features_coder_free(&coder);
    return rc;
}

static int list_new(struct nb_foreseen *f, const struct nb_submitted *change)
{
    size_t count = change->foreseen_count;
    size_t at = 0;
    if (nb_array_reserve(&f->ids, &f->ids_room, count, sizeof *f->ids) != 0 ||
        nb_array_reserve(&f->texts, &f->texts_room, count, sizeof *f->texts) != 0)
        return NB_NO_MEMORY;
    for (size_t i = 0; i < change->other_count; i++) {
        const struct nb_pending *p = &change->others[i];
        if (!p->is_foreseen)
            continue;
        f->ids[at] = p->id;
        f->texts[at++] = (struct nb_string){change->texts.bytes + p->text_offset, p->text_length};
    }
    assert(at == count);
    return 0;
}

int nb_foresee(struct nb_batch *batch, struct nb_submitted *change)
{
    int rc = change->quarantined ? 0
             : batch->single     ? mark_all(batch, change)
                                 : mark_new(&batch->foreseen, change);
    if (rc != 0 || change->foreseen_count == 0 || !atomic_load(&batch->engine->foresees) ||
        !nb_remember_keeps_texts(batch->engine, batch->live))
        return rc;
    rc = list_new(&batch->foreseen, change);
    return rc != 0 ? rc : encode(batch->engine, &batch->foreseen, change);
}
