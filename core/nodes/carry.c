/* SPDX-License-Identifier: Apache-2.0 */
#include "core/nodes/carry.h"

#include <assert.h>
#include <stdlib.h>

#include "core/base/pack.h"
#include "core/bayes/settings/settings.h"
#include "core/model/live/standing.h"
#include "core/writer/submit/batch.h"
#include "core/writer/submit/features.h"

/* ---- out ------------------------------------------------------------------------------------- */

/* Where a feature of a change is: among those with rows, or behind them the others. */
struct place {
    uint64_t id;
    size_t at;
};

static int by_id(const void *a, const void *b)
{
    uint64_t x = ((const struct place *)a)->id;
    uint64_t y = ((const struct place *)b)->id;
    return (x > y) - (x < y);
}

static void list_places(const struct nb_submitted *change, struct place *places)
{
    size_t size = 0;
    for (size_t i = 0; i < change->known_count; i++, size++)
        places[size] = (struct place){change->known_ids[i], size};
    for (size_t i = 0; i < change->other_count; i++, size++)
        places[size] = (struct place){change->others[i].id, size};
}

/* Ids are hashes below a field, so by their first bits nearly all are in order: the others, of
 * which numbers of attributes can be many, are sorted among themselves. Returns `places` or
 * `scratch`. */
static struct place *sort_places(struct place *places, struct place *scratch, size_t size)
{
    enum { DIGIT = 8, VALUES = 1 << DIGIT, FIRST_BITS = 24, END = 64 };
    for (unsigned shift = END - FIRST_BITS; shift < END; shift += DIGIT) {
        size_t starts[VALUES] = {0};
        for (size_t i = 0; i < size; i++)
            starts[places[i].id >> shift & (VALUES - 1)]++;
        for (size_t v = 0, sum = 0; v < VALUES; v++) {
            size_t count = starts[v];
            starts[v] = sum;
            sum += count;
        }
        for (size_t i = 0; i < size; i++)
            scratch[starts[places[i].id >> shift & (VALUES - 1)]++] = places[i];
        struct place *swap = places;
        places = scratch;
        scratch = swap;
    }
    for (size_t i = 0, end = 0; i < size; i = end) {
        while (end < size && (places[end].id ^ places[i].id) >> (END - FIRST_BITS) == 0)
            end++;
        if (end - i > 1)
            qsort(places + i, end - i, sizeof *places, by_id);
    }
    return places;
}

/* A feature that no document has here may be new to the others, too, so it carries its text. */
static struct nb_operation_feature feature_at(const struct nb_submitted *change, size_t at)
{
    if (at < change->known_count)
        return (struct nb_operation_feature){.id = change->known_ids[at],
                                             .count = change->known[at].count};
    size_t other = at - change->known_count;
    return (struct nb_operation_feature){.id = change->others[other].id,
                                         .count = change->others[other].count,
                                         .has_text = true,
                                         .text = nb_submitted_text(change, other)};
}

static int write_features(const struct nb_submitted *change, struct nb_buffer *out)
{
    size_t size = nb_submitted_size(change);
    struct place *room = malloc((2 * size + 1) * sizeof *room);
    if (room == NULL)
        return NB_NO_MEMORY;
    list_places(change, room);
    const struct place *places = sort_places(room, room + size, size);
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < size; i++) {
        struct nb_operation_feature f = feature_at(change, places[i].at);
        rc = nb_operation_feature_write(&f, out);
    }
    free(room);
    return rc;
}

static uint32_t flags_of(const struct nb_submitted *c)
{
    return (c->untrain ? NB_OPERATION_UNTRAIN : 0u) |
           (c->quarantined ? NB_OPERATION_QUARANTINED : 0u) |
           (c->is_label && !c->is_recalled ? NB_OPERATION_IS_LABEL : 0u) |
           (c->is_recalled ? NB_OPERATION_IS_RECALLED : 0u) |
           (c->forgets ? NB_OPERATION_FORGETS : 0u) | (c->is_aged ? NB_OPERATION_IS_AGED : 0u) |
           (c->is_note ? NB_OPERATION_IS_NOTE : 0u) | (c->is_refit ? NB_OPERATION_IS_REFIT : 0u) |
           (c->truncated ? NB_OPERATION_TRUNCATED : 0u);
}

/* Only a change with a document makes a model. */
static uint8_t creates(const struct nb_batch *batch, const struct nb_submitted *c)
{
    bool may = !c->untrain && !c->quarantined && !c->is_label && !c->is_note && !c->is_refit &&
               c->taken == 0;
    if (atomic_load(&batch->live->persisted) || !may)
        return 0;
    struct nb_published *published = nb_live_settings(batch->live);
    uint8_t preset = (uint8_t)(published->settings.preset + 1);
    nb_published_release(&published);
    return preset;
}

/* 0: the model is not stored yet. */
static int born_of(const struct nb_batch *batch, uint64_t *born, struct nb_error *error)
{
    struct nb_view view;
    struct nb_live *live = batch->live;
    *born = atomic_load(&live->born);
    if (*born != 0 || !atomic_load(&live->persisted))
        return 0;
    int rc = nb_store_snapshot(batch->engine->store, &view, error);
    if (rc != 0)
        return rc;
    rc = nb_standing_born(live, &view, born, error);
    nb_store_snapshot_end(&view);
    return rc;
}

int nb_carry_write(const struct nb_batch *batch, size_t index, int64_t time, uint64_t last,
                   struct nb_buffer *out, struct nb_error *error)
{
    const struct nb_submitted *c = &batch->changes[index];
    struct nb_buffer features = {0};
    uint64_t born;
    assert(index < batch->size && batch->live != NULL);
    int rc = born_of(batch, &born, error);
    if (rc != 0)
        return rc;
    rc = write_features(c, &features);
    struct nb_operation o = {
        .kind = NB_OPERATION_CHANGE,
        .time = time,
        .errand = {.model = nb_buffer_string(&batch->name), .source = nb_buffer_string(&c->source)},
        .flags = flags_of(c),
        .born = born,
        .creates = creates(batch, c),
        .last = last,
        .taken = c->taken,
        .restored = c->restored,
        .labelled = c->labelled,
        .note_documents = c->note_documents,
        .part = (uint32_t)c->part,
        .id = nb_buffer_string(&c->id),
        .label = nb_buffer_string(&c->label),
        .released = nb_buffer_string(&c->released),
        .fields = c->fields,
        .positions = c->positions,
        .feature_count = nb_submitted_size(c),
        .features = nb_buffer_string(&features),
    };
    if (rc == 0)
        rc = nb_operation_write(&o, out);
    nb_buffer_deinit(&features);
    return rc == 0 ? 0 : nb_error_no_memory(error);
}

/* ---- in -------------------------------------------------------------------------------------- */

/* Their rows are this node's own: the writer looks all of them up. */
static int read_features(const struct nb_operation *o, struct nb_submitted *change)
{
    struct nb_unpacker u = nb_unpacker_of(o->features.bytes, o->features.length);
    change->others = malloc((o->feature_count + 1) * sizeof *change->others);
    if (change->others == NULL)
        return NB_NO_MEMORY;
    for (size_t i = 0; i < o->feature_count; i++) {
        struct nb_operation_feature f = nb_operation_next(&u);
        if (nb_submitted_add(change, f.id, f.count, f.text) != 0)
            return NB_NO_MEMORY;
    }
    assert(nb_unpacker_done(&u));
    return 0;
}

static int read_texts(const struct nb_operation *o, struct nb_submitted *c)
{
    const struct nb_string *from[] = {&o->id, &o->label, &o->errand.source, &o->released};
    struct nb_buffer *to[] = {&c->id, &c->label, &c->source, &c->released};
    for (size_t i = 0; i < sizeof from / sizeof *from; i++)
        if (nb_buffer_append(to[i], from[i]->bytes, from[i]->length) != 0)
            return NB_NO_MEMORY;
    return read_features(o, c);
}

static struct nb_submitted change_of(const struct nb_operation *o, const struct nb_relayed *here)
{
    struct nb_relayed relayed = *here;
    relayed.time = o->time;
    relayed.born = o->born;
    relayed.creates = o->creates;
    relayed.last = o->last;
    return (struct nb_submitted){
        .untrain = (o->flags & NB_OPERATION_UNTRAIN) != 0,
        .quarantined = (o->flags & NB_OPERATION_QUARANTINED) != 0,
        .is_label = (o->flags & NB_OPERATION_IS_LABEL) != 0,
        .is_recalled = (o->flags & NB_OPERATION_IS_RECALLED) != 0,
        .forgets = (o->flags & NB_OPERATION_FORGETS) != 0,
        .is_aged = (o->flags & NB_OPERATION_IS_AGED) != 0,
        .is_note = (o->flags & NB_OPERATION_IS_NOTE) != 0,
        .is_refit = (o->flags & NB_OPERATION_IS_REFIT) != 0,
        .truncated = (o->flags & NB_OPERATION_TRUNCATED) != 0,
        .taken = o->taken,
        .restored = o->restored,
        .labelled = o->labelled,
        .note_documents = o->note_documents,
        .part = (enum nb_refit_part)o->part,
        .fields = o->fields,
        .positions = o->positions,
        .relayed = relayed,
    };
}

int nb_carry_read(struct nb_engine *engine, const struct nb_operation *o,
                  const struct nb_relayed *here, bool single, struct nb_batch **out,
                  struct nb_error *error)
{
    struct nb_batch *batch;
    struct nb_settings settings;
    enum nb_preset preset = o->creates > 0 ? (enum nb_preset)(o->creates - 1) : NB_PRESET_TEXT;
    int rc = nb_batch_new(engine, o->errand.model, single, &batch, error);
    if (rc != 0)
        return rc;
    nb_settings_init(&settings, preset);
    struct nb_submitted change = change_of(o, here);
    rc = read_texts(o, &change);
    if (rc != 0) {
        nb_submitted_deinit(&change);
        (void)nb_error_no_memory(error);
    } else {
        rc = nb_batch_take(batch, &settings, &change, error);
    }
    nb_settings_deinit(&settings);
    if (rc == 0)
        *out = batch;
    else
        nb_batch_free(&batch);
    return rc;
}
