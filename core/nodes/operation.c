/* SPDX-License-Identifier: Apache-2.0 */
#include "core/nodes/operation.h"

#include <assert.h>
#include <stdlib.h>

#include "core/archive/dump/parts.h"
#include "core/base/feature.h"
#include "core/base/pack.h"
#include "core/bayes/settings/settings.h"
#include "core/ledger/coding/rows_coding.h"
#include "core/ledger/entries/change.h"
#include "core/model/live/names.h"
#include "core/model/live/stream_states.h"
#include "core/writer/submit/submit_batch.h"
#include "core/writer/submit/submit_features.h"

enum {
    NOTE_MOST = 1024, /* bytes of the options of an undo */
    FLAGS = 9,
    FEATURE_BYTES = 9 /* at least */
};

/* In the order of their bits. */
static void list_flags(struct nb_submitted *c, bool *flags[FLAGS])
{
    bool *const all[FLAGS] = {&c->untrain,     &c->quarantined, &c->is_label,
                              &c->is_recalled, &c->forgets,     &c->is_aged,
                              &c->is_note,     &c->is_refit,    &c->truncated};
    memcpy(flags, all, sizeof all);
}

/* ---- writing --------------------------------------------------------------------------------- */

struct feature {
    uint64_t id;
    uint32_t count;
    struct nb_string text;
};

static int by_id(const void *a, const void *b)
{
    uint64_t x = ((const struct feature *)a)->id;
    uint64_t y = ((const struct feature *)b)->id;
    return (x > y) - (x < y);
}

/* Sorts by the first halves of ids first: below a field ids are hashes, so this orders nearly all.
 * The others, which can be many for numbers of attributes, are sorted among themselves. `order` has
 * room for twice as many. */
static void sort_features(const struct feature *from, struct feature *to, size_t size,
                          struct nb_row_count *order)
{
    for (size_t i = 0; i < size; i++)
        order[i] = (struct nb_row_count){.row = (uint32_t)(from[i].id >> 32), .count = (uint32_t)i};
    nb_row_counts_sort(order, size, order + size);
    for (size_t i = 0; i < size; i++)
        to[i] = from[order[i].count];
    for (size_t i = 0, end = 0; i < size; i = end) {
        while (end < size && order[end].row == order[i].row)
            end++;
        if (end - i > 1)
            qsort(to + i, end - i, sizeof *to, by_id);
    }
}

/* A feature that no document has on this node may be new to the others, too, so it carries its
 * text. */
static void write_features(struct nb_packer *w, const struct nb_submitted *c)
{
    size_t size = 0, most = nb_submitted_size(c) + 1;
    struct feature *all = malloc(2 * most * sizeof *all);
    struct nb_row_count *order = malloc(2 * most * sizeof *order);
    if (all == NULL || order == NULL) {
        w->code = NB_NO_MEMORY;
        free(all);
        free(order);
        return;
    }
    for (size_t i = 0; i < c->known_count; i++)
        all[size++] = (struct feature){c->known_ids[i], c->known[i].count, {NULL, 0}};
    for (size_t i = 0; i < c->other_count; i++)
        all[size++] =
            (struct feature){c->others[i].id, c->others[i].count, nb_submitted_text(c, i)};
    sort_features(all, all + size, size, order);
    nb_pack_varint(w, size);
    for (const struct feature *f = all + size; f < all + 2 * size; f++) {
        bool has_text = f->text.length > 0;
        nb_pack_u64(w, f->id);
        nb_pack_varint(w, (uint64_t)f->count * 2 + has_text);
        if (has_text)
            nb_pack_string(w, f->text);
    }
    free(all);
    free(order);
}

static void write_change(struct nb_packer *w, struct nb_submitted c)
{
    bool *bits[FLAGS];
    uint64_t flags = 0;
    c.is_label = c.is_label && !c.is_recalled; /* which gives the time */
    list_flags(&c, bits);
    for (unsigned i = 0; i < FLAGS; i++)
        flags |= (uint64_t)*bits[i] << i;
    nb_pack_varint(w, flags);
    nb_pack_varint(w, c.relayed.first_entry);
    nb_pack_u8(w, c.relayed.creates);
    nb_pack_varint(w, c.relayed.last);
    nb_pack_varint(w, c.taken);
    nb_pack_varint(w, c.restored);
    nb_pack_varint(w, c.labelled);
    nb_pack_varint(w, c.note_documents);
    nb_pack_varint(w, (uint64_t)c.part);
    nb_pack_string(w, nb_buffer_string(&c.id));
    nb_pack_string(w, nb_buffer_string(&c.label));
    nb_pack_string(w, nb_buffer_string(&c.released));
    nb_pack_varint(w, c.fields);
    nb_pack_varint(w, c.positions);
    write_features(w, &c);
}

static void write_relayed_change(struct nb_packer *w, const struct nb_relayed_change *e)
{
    nb_pack_string(w, e->from);
    nb_pack_string(w, e->to);
    nb_pack_string(w, e->settings);
    nb_pack_u8(w, e->only_new);
    nb_pack_varint(w, e->last);
}

int nb_operation_write(const struct nb_operation *o, struct nb_buffer *out)
{
    struct nb_packer w = {.out = out};
    nb_pack_bytes(&w, NB_OPERATION_MAGIC, sizeof NB_OPERATION_MAGIC - 1);
    nb_pack_u8(&w, NB_OPERATION_FORMAT);
    nb_pack_u8(&w, NB_TOKENIZER_VERSION);
    nb_pack_u8(&w, NB_APPLY_VERSION);
    nb_pack_u8(&w, (uint8_t)o->kind);
    nb_pack_varint(&w, (uint64_t)o->change.relayed.time);
    nb_pack_string(&w, o->relayed_change.model);
    nb_pack_string(&w, o->relayed_change.source);
    if (o->kind == NB_OPERATION_CHANGE)
        write_change(&w, o->change);
    else
        write_relayed_change(&w, &o->relayed_change);
    return w.code;
}

/* ---- reading --------------------------------------------------------------------------------- */

static int corrupt(struct nb_error *error, const char *what)
{
    return nb_error_set(error, NB_CORRUPT, "a change from the stream does not read back: %s", what);
}

static int check_version(struct nb_unpacker *u, const char *what, unsigned here,
                         struct nb_error *error)
{
    unsigned there = nb_unpack_u8(u);
    if (u->failed)
        return corrupt(error, "it is cut off");
    if (there == here)
        return 0;
    return nb_error_set(error, NB_VERSION,
                        "the stream has changes of version %u of %s, and this bayesd has version "
                        "%u: all nodes need the same",
                        there, what, here);
}

/* The features are the rest of the message. Rows differ between nodes: the writer looks all of them
 * up. */
static int read_features(struct nb_unpacker *u, struct nb_submitted *c, struct nb_error *error)
{
    uint64_t count = nb_unpack_bounded(u, (uint64_t)(u->end - u->at) / FEATURE_BYTES), before = 0;
    if (u->failed)
        return corrupt(error, "its features are cut off");
    c->others = malloc((size_t)(count + 1) * sizeof *c->others);
    if (c->others == NULL)
        return nb_error_no_memory(error);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t id = nb_unpack_u64(u);
        uint64_t twice = nb_unpack_bounded(u, (uint64_t)UINT32_MAX * 2 + 1);
        struct nb_string text = twice % 2 != 0 ? nb_unpack_string(u) : (struct nb_string){"", 0};
        if (u->failed)
            return corrupt(error, "its features are cut off");
        if ((i > 0 && id <= before) || twice < 2 || !nb_feature_has_field(id))
            return corrupt(error, "a feature");
        if (nb_submitted_add(c, id, (uint32_t)(twice / 2), text) != 0)
            return nb_error_no_memory(error);
        before = id;
    }
    return nb_unpacker_done(u) ? 0 : corrupt(error, "more follows than there should");
}

static int check_change(const struct nb_submitted *c, struct nb_error *error)
{
    struct nb_string label = nb_buffer_string(&c->label);
    int rc = c->is_note || c->is_refit ? 0 : nb_check_id(nb_buffer_string(&c->id), error);
    if (rc == 0 && c->is_note && label.length > NOTE_MOST)
        rc = corrupt(error, "a note");
    if (rc == 0 && !c->is_note && label.length > 0)
        rc = nb_check_label(label, error);
    if (rc == 0 && c->restored != 0 && c->restored >= c->taken)
        rc = corrupt(error, "what it takes back");
    return rc == 0 ? 0 : corrupt(error, "a name in it");
}

static int read_change(struct nb_unpacker *u, struct nb_submitted *c, struct nb_error *error)
{
    bool *bits[FLAGS];
    struct nb_buffer *texts[] = {&c->id, &c->label, &c->released};
    uint64_t flags = nb_unpack_bounded(u, (1 << FLAGS) - 1);
    list_flags(c, bits);
    for (unsigned i = 0; i < FLAGS; i++)
        *bits[i] = (flags >> i & 1) != 0;
    c->relayed.first_entry = nb_unpack_varint(u);
    c->relayed.creates = nb_unpack_u8(u);
    c->relayed.last = nb_unpack_varint(u);
    c->taken = nb_unpack_varint(u);
    c->restored = nb_unpack_varint(u);
    c->labelled = nb_unpack_varint(u);
    c->note_documents = (uint32_t)nb_unpack_bounded(u, UINT32_MAX);
    c->part = (enum nb_refit_part)nb_unpack_bounded(u, NB_REFIT_WHOLE);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct nb_string text = nb_unpack_string(u);
        if (nb_buffer_append(texts[i], text.bytes, text.length) != 0)
            return nb_error_no_memory(error);
    }
    c->fields = (uint32_t)nb_unpack_bounded(u, UINT32_MAX);
    c->positions = nb_unpack_varint(u);
    if (u->failed || c->relayed.creates > NB_PRESET_BOOK + 1)
        return corrupt(error, "its head");
    int rc = check_change(c, error);
    return rc != 0 ? rc : read_features(u, c, error);
}

static int read_relayed_change(struct nb_unpacker *u, struct nb_relayed_change *e,
                               struct nb_error *error)
{
    e->from = nb_unpack_string(u);
    e->to = nb_unpack_string(u);
    e->settings = nb_unpack_string(u);
    e->only_new = nb_unpack_u8(u) != 0;
    e->last = nb_unpack_varint(u);
    if (!nb_unpacker_done(u))
        return corrupt(error, "a change of a model");
    bool is_rename = e->kind == NB_RELAYED_CHANGE_RENAME_LABEL;
    if (is_rename && (nb_check_label(e->from, NULL) != 0 || nb_check_label(e->to, NULL) != 0))
        return corrupt(error, "a label");
    bool is_import = e->kind == NB_RELAYED_CHANGE_PART || e->kind == NB_RELAYED_CHANGE_IMPORT;
    if (is_import && (!nb_import_is_id(e->from) || e->last >= UINT32_MAX))
        return corrupt(error, "an import");
    return 0;
}

int nb_operation_read(struct nb_operation *o, struct nb_string written, struct nb_error *error)
{
    struct nb_unpacker u = nb_unpacker_of(written.bytes, written.length);
    *o = (struct nb_operation){.kind = NB_OPERATION_CHANGE};
    if (!nb_string_equals(nb_unpack_bytes(&u, sizeof NB_OPERATION_MAGIC - 1), NB_OPERATION_MAGIC))
        return corrupt(error, "it does not begin as one");
    int rc = check_version(&u, "messages", NB_OPERATION_FORMAT, error);
    if (rc == 0)
        rc = check_version(&u, "the tokenizer", NB_TOKENIZER_VERSION, error);
    if (rc == 0)
        rc = check_version(&u, "applying", NB_APPLY_VERSION, error);
    if (rc != 0)
        return rc;
    unsigned kind = nb_unpack_u8(&u);
    if (!u.failed && kind >= NB_OPERATION_KINDS)
        return nb_error_set(error, NB_VERSION,
                            "the stream has a kind of change (%u) that this bayesd does not know: "
                            "use a newer one",
                            kind);
    o->kind = (enum nb_operation_kind)kind;
    o->change.relayed.time = (int64_t)nb_unpack_bounded(&u, INT64_MAX);
    o->relayed_change.model = nb_unpack_string(&u);
    o->relayed_change.source = nb_unpack_string(&u);
    if (u.failed || nb_check_model_name(o->relayed_change.model, NULL) != 0 ||
        nb_check_source(o->relayed_change.source, NULL) != 0 || o->change.relayed.time == 0)
        return corrupt(error, "its beginning");
    if (kind == NB_OPERATION_CHANGE)
        return read_change(&u, &o->change, error);
    o->relayed_change.kind = (enum nb_relayed_change_kind)(kind - NB_OPERATION_RELAYED);
    return read_relayed_change(&u, &o->relayed_change, error);
}

void nb_operation_deinit(struct nb_operation *o)
{
    nb_submitted_deinit(&o->change);
}

int nb_operation_check(struct nb_string written, size_t most, struct nb_error *error)
{
    if (written.length <= most)
        return 0;
    return nb_error_set(error, NB_TOO_LARGE,
                        "the change takes %zu bytes, and what several nodes share at most %zu",
                        written.length, most);
}

enum nb_operation_kind nb_operation_kind_of(struct nb_string written)
{
    enum { AT = sizeof NB_OPERATION_MAGIC - 1 + 3 }; /* behind three versions */
    assert(written.length > AT);
    return (enum nb_operation_kind)(unsigned char)written.bytes[AT];
}

/* ---- changes of batches ---------------------------------------------------------------------- */

/* Only a change that learns a document creates a model. */
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
static int first_entry_of(const struct nb_batch *batch, uint64_t *first_entry,
                          struct nb_error *error)
{
    struct nb_view view;
    struct nb_live *live = batch->live;
    *first_entry = atomic_load(&live->first_entry);
    if (*first_entry != 0 || !atomic_load(&live->persisted))
        return 0;
    int rc = nb_store_snapshot(batch->engine->store, &view, error);
    if (rc != 0)
        return rc;
    rc = nb_stream_states_first_entry(live, &view, first_entry, error);
    nb_store_snapshot_end(&view);
    return rc;
}

int nb_operation_write_change(const struct nb_batch *batch, size_t index, int64_t time,
                              uint64_t last, struct nb_buffer *out, struct nb_error *error)
{
    const struct nb_submitted *c = &batch->changes[index];
    uint64_t first_entry;
    assert(index < batch->size && batch->live != NULL);
    int rc = first_entry_of(batch, &first_entry, error);
    if (rc != 0)
        return rc;
    struct nb_operation o = {.kind = NB_OPERATION_CHANGE,
                             .relayed_change = {.model = nb_buffer_string(&batch->name),
                                                .source = nb_buffer_string(&c->source)},
                             .change = *c};
    o.change.relayed = (struct nb_relayed){
        .time = time, .first_entry = first_entry, .creates = creates(batch, c), .last = last};
    return nb_operation_write(&o, out) == 0 ? 0 : nb_error_no_memory(error);
}

int nb_operation_take(struct nb_engine *engine, struct nb_operation *o,
                      const struct nb_relayed *here, bool single, struct nb_batch **out,
                      struct nb_error *error)
{
    struct nb_submitted change = o->change;
    struct nb_batch *batch;
    struct nb_settings settings;
    uint8_t creates = change.relayed.creates;
    int rc = nb_batch_new(engine, o->relayed_change.model, single, &batch, error);
    if (rc != 0)
        return rc;
    o->change = (struct nb_submitted){.relayed = change.relayed};
    change.relayed = *here;
    change.relayed.time = o->change.relayed.time;
    change.relayed.first_entry = o->change.relayed.first_entry;
    change.relayed.creates = creates;
    change.relayed.last = o->change.relayed.last;
    nb_settings_init(&settings, creates > 0 ? (enum nb_preset)(creates - 1) : NB_PRESET_TEXT);
    if (nb_buffer_append(&change.source, o->relayed_change.source.bytes,
                         o->relayed_change.source.length) == 0) {
        rc = nb_batch_take(batch, &settings, &change, error);
    } else {
        nb_submitted_deinit(&change);
        rc = nb_error_no_memory(error);
    }
    nb_settings_deinit(&settings);
    if (rc == 0)
        *out = batch;
    else
        nb_batch_free(&batch);
    return rc;
}
