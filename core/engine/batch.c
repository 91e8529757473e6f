/* SPDX-License-Identifier: Apache-2.0
 *
 * What a trainer's thread does before the writer takes over: documents are validated, tokenized and
 * looked up here, in parallel; only the merge is the writer's.
 */
#include "core/engine/batch.h"

#include <assert.h>
#include <stdlib.h>

#include "core/base/array.h"
#include "core/live/names.h"
#include "core/live/registry.h"
#include "core/remember/note.h"
#include "core/store/ledger.h"
#include "core/store/quarantine.h"

/* ---- batches --------------------------------------------------------------------------------- */

int nb_batch_new(struct nb_engine *engine, struct nb_string model, bool single,
                 struct nb_batch **batch, struct nb_error *error)
{
    int rc = nb_check_model_name(model, error);
    if (rc != 0)
        return rc;
    struct nb_batch *b = calloc(1, sizeof *b);
    if (b == NULL || nb_buffer_append(&b->name, model.bytes, model.length) != 0) {
        free(b);
        return nb_error_no_memory(error);
    }
    b->engine = engine;
    b->single = single;
    *batch = b;
    return 0;
}

static void change_deinit(struct nb_submitted *change)
{
    nb_buffer_deinit(&change->id);
    nb_buffer_deinit(&change->label);
    nb_buffer_deinit(&change->source);
    nb_buffer_deinit(&change->texts);
    nb_buffer_deinit(&change->released);
    nb_buffer_deinit(&change->twin);
    nb_delta_deinit(&change->delta);
    free(change->features);
    free(change->receipt.labels);
}

void nb_batch_free(struct nb_batch **batch)
{
    struct nb_batch *b = *batch;
    *batch = NULL;
    if (b == NULL)
        return;
    for (size_t i = 0; i < b->size; i++)
        change_deinit(&b->changes[i]);
    free(b->changes);
    if (b->live != NULL)
        atomic_fetch_sub(&b->live->pins[b->pin], 1);
    nb_registry_release(b->engine, &b->live);
    nb_bag_deinit(&b->scratch);
    nb_buffer_deinit(&b->name);
    free(b);
}

size_t nb_batch_size(const struct nb_batch *batch)
{
    return batch->size;
}

size_t nb_batch_memory(const struct nb_batch *batch)
{
    return batch->memory;
}

const struct nb_receipt *nb_batch_receipt(const struct nb_batch *batch, size_t index)
{
    assert(index < batch->size);
    return &batch->changes[index].receipt;
}

int nb_batch_count_changed(const struct nb_batch *batch, uint64_t *changed, struct nb_error *error)
{
    int rc = 0;
    for (size_t i = 0; i < batch->size; i++) {
        const struct nb_receipt *receipt = nb_batch_receipt(batch, i);
        *changed += receipt->code == 0;
        if (rc != 0 || receipt->code == 0 || receipt->code == NB_CONFLICT ||
            receipt->code == NB_NOT_FOUND)
            continue;
        rc = receipt->code;
        *error = receipt->error;
    }
    return rc;
}

static int find_model(struct nb_batch *batch, const struct nb_document *document, bool make,
                      struct nb_error *error)
{
    struct nb_string name = {batch->name.bytes, batch->name.length};
    if (!make || document->values.count > 0) /* whose fields somebody must have named */
        return nb_registry_acquire(batch->engine, name, false, &batch->live, error);
    struct nb_settings settings;
    nb_settings_init(&settings,
                     document->kind == NB_DOCUMENT_MAIL ? NB_PRESET_MAIL : NB_PRESET_TEXT);
    int rc = nb_registry_make(batch->engine, name, &settings, &batch->live, error);
    nb_settings_deinit(&settings);
    return rc;
}

/* Rows that the batch finds from now on in use are not dropped before it ends. */
static void pin(struct nb_batch *batch)
{
    struct nb_live *live = batch->live;
    unsigned epoch = atomic_load(&live->epoch);
    for (;;) {
        batch->pin = epoch & 1;
        atomic_fetch_add(&live->pins[batch->pin], 1);
        unsigned now = atomic_load(&live->epoch);
        if (now == epoch)
            return;
        atomic_fetch_sub(&live->pins[batch->pin], 1);
        epoch = now;
    }
}

static int acquire(struct nb_batch *batch, const struct nb_document *document, bool make,
                   struct nb_error *error)
{
    if (batch->live != NULL)
        return 0;
    int rc = find_model(batch, document, make, error);
    if (rc == 0)
        pin(batch);
    return rc;
}

/* The bytes of which a document with values has its id. */
static int write_content(const struct nb_document *document, struct nb_buffer *out)
{
    struct nb_packer w = {.out = out};
    nb_pack_u8(&w, (uint8_t)document->kind);
    nb_pack_string(&w, (struct nb_string){document->bytes, document->length});
    for (size_t i = 0; i < document->values.count; i++) {
        const struct nb_value *value = &document->values.values[i];
        nb_pack_string(&w, value->name);
        nb_pack_varint(&w, value->is_list ? value->count + 1 : 0);
        for (size_t k = 0; k < value->count; k++)
            nb_pack_string(&w, value->items[k]);
    }
    return w.code;
}

static int make_values_id(const struct nb_key *key, const struct nb_document *document, char *made)
{
    enum { KIND = 2 }; /* after those of enum nb_document_kind */
    struct nb_buffer content = {0};
    int rc = write_content(document, &content);
    if (rc == 0)
        nb_key_content_id(key, KIND, content.bytes, content.length, made);
    nb_buffer_deinit(&content);
    return rc;
}

int nb_batch_make_id(const struct nb_key *key, const struct nb_document *document,
                     char made[NB_CONTENT_ID_LENGTH + 1])
{
    if (document->values.count > 0)
        return make_values_id(key, document, made);
    if (document->kind == NB_DOCUMENT_MAIL)
        nb_key_mail_id(key, NB_DOCUMENT_MAIL, document->bytes, document->length, made);
    else
        nb_key_content_id(key, NB_DOCUMENT_TEXT, document->bytes, document->length, made);
    return 0;
}

static int set_id(const struct nb_batch *batch, const struct nb_document *document,
                  struct nb_string id, struct nb_submitted *change)
{
    char made[NB_CONTENT_ID_LENGTH + 1];
    assert(batch->live != NULL);
    if (id.length == 0) {
        int rc = nb_batch_make_id(batch->live->id_key, document, made);
        if (rc != 0)
            return rc;
        id = (struct nb_string){made, NB_CONTENT_ID_LENGTH};
    }
    return nb_buffer_append(&change->id, id.bytes, id.length);
}

/* ---- features -------------------------------------------------------------------------------- */

static int keep_text(struct nb_submitted *change, struct nb_pending *p, struct nb_string text)
{
    p->text_offset = (uint32_t)change->texts.length;
    p->text_length = (uint32_t)text.length;
    return nb_buffer_append(&change->texts, text.bytes, text.length);
}

/* Known rows first, ascending, so that the writer can code them as they are; the others in order of
 * appearance. `unused` says of each feature whether no document has it: these have their texts with
 * them, because the row of one that is known may be dropped before the writer comes to it. `order`
 * has room for twice the bag. */
static int order_features(const struct nb_bag *bag, const uint32_t *rows, const bool *unused,
                          struct nb_row_count *order, struct nb_submitted *change)
{
    struct nb_pending *p = change->features;
    size_t known = 0;
    int rc = 0;
    for (size_t i = 0; i < bag->size; i++)
        if (rows[i] != NB_NO_ROW)
            order[known++] = (struct nb_row_count){.row = rows[i], .count = (uint32_t)i};
    nb_row_counts_sort(order, known, order + bag->size);
    for (size_t k = 0; rc == 0 && k < known; k++) {
        const struct nb_feature *f = &bag->features[order[k].count];
        *p = (struct nb_pending){.id = f->id, .count = f->count, .row = order[k].row};
        if (unused[order[k].count])
            rc = keep_text(change, p, bag->texts[order[k].count]);
        p++;
    }
    for (size_t i = 0; rc == 0 && i < bag->size; i++) {
        if (rows[i] != NB_NO_ROW)
            continue;
        const struct nb_feature *f = &bag->features[i];
        *p = (struct nb_pending){.id = f->id, .count = f->count, .row = NB_NO_ROW};
        rc = keep_text(change, p++, bag->texts[i]);
    }
    assert(rc != 0 || p == change->features + bag->size);
    return rc;
}

/* A row that is found in use now is good when the writer comes to it: the batch has pinned it. What
 * waits in the quarantine keeps the texts of all its features: until it is applied, the model may
 * lose some. */
static void find_rows(const struct nb_model *model, const struct nb_bag *bag, bool quarantined,
                      uint32_t *rows, bool *unused)
{
    if (quarantined) {
        for (size_t i = 0; i < bag->size; i++) {
            rows[i] = NB_NO_ROW;
            unused[i] = true;
        }
        return;
    }
    nb_model_read_lock(model);
    nb_model_find_all(model, bag->features, bag->size, rows);
    nb_model_look_unused(model, rows, bag->size, unused);
    nb_model_unlock(model);
}

static int take_features(const struct nb_model *model, const struct nb_bag *bag,
                         struct nb_submitted *change)
{
    uint32_t *rows = malloc((bag->size + 1) * sizeof *rows);
    bool *unused = malloc((bag->size + 1) * sizeof *unused);
    struct nb_row_count *order = malloc((bag->size + 1) * 2 * sizeof *order);
    change->features = malloc((bag->size + 1) * sizeof *change->features);
    int rc = NB_NO_MEMORY;
    if (rows != NULL && unused != NULL && order != NULL && change->features != NULL) {
        find_rows(model, bag, change->quarantined, rows, unused);
        rc = order_features(bag, rows, unused, order, change);
    }
    free(rows);
    free(unused);
    free(order);
    change->feature_count = bag->size;
    change->positions = bag->positions;
    change->truncated = bag->truncated;
    return rc;
}

static int tokenize(struct nb_batch *batch, const struct nb_document *document,
                    struct nb_submitted *change)
{
    assert(batch->live->counts != NULL);
    struct nb_published *published = nb_live_settings(batch->live);
    struct nb_tokenizer_settings settings = nb_published_tokenizer(published);
    change->fields = settings.fields;
    int rc = nb_document_tokenize(document, batch->live->key, &settings,
                                  &batch->engine->settings.tokenizer, &batch->scratch);
    nb_published_release(&published);
    return rc != 0 ? rc : take_features(batch->live->counts, &batch->scratch, change);
}

/* Puts a finished change into the batch. */
static int add_change(struct nb_batch *batch, struct nb_submitted *change)
{
    if (nb_array_reserve(&batch->changes, &batch->room, batch->size + 1, sizeof *change) != 0)
        return NB_NO_MEMORY;
    batch->memory += sizeof *change + change->feature_count * sizeof *change->features +
                     change->texts.capacity + change->id.capacity + change->label.capacity +
                     change->source.capacity + change->released.capacity;
    batch->changes[batch->size++] = *change;
    return 0;
}

/* The change goes into the batch; if it could not be made (`rc`) or does not go in, it is freed. */
static int end_change(struct nb_batch *batch, struct nb_submitted *change, int rc,
                      struct nb_error *error)
{
    if (rc == 0)
        rc = add_change(batch, change);
    if (rc == 0)
        return 0;
    change_deinit(change);
    return nb_error_no_memory(error);
}

static bool has_new_fields(struct nb_values values, struct nb_attributes attributes)
{
    for (size_t i = 0; i < values.count; i++)
        if (nb_attribute_find(attributes, values.values[i].name) == attributes.count)
            return true;
    return false;
}

/* Attributes are never taken away: what is good now is so when the document is tokenized. Nobody
 * makes new ones from the quarantine. */
static int check_values(const struct nb_batch *batch, const struct nb_document *document,
                        bool *needs_fields, struct nb_error *error)
{
    if (document->values.count == 0)
        return 0;
    struct nb_published *published = nb_live_settings(batch->live);
    struct nb_attributes attributes = nb_settings_attributes(&published->settings);
    *needs_fields =
        attributes.is_open && !batch->quarantined && has_new_fields(document->values, attributes);
    attributes.is_open = *needs_fields;
    int rc = nb_values_check(document->values, attributes, error);
    nb_published_release(&published);
    *needs_fields = *needs_fields && rc == 0;
    return rc;
}

static int check(struct nb_string id, struct nb_string source, struct nb_error *error)
{
    int rc = nb_check_source(source, error);
    return rc == 0 && id.length > 0 ? nb_check_id(id, error) : rc;
}

int nb_batch_add(struct nb_batch *batch, const struct nb_document *document, struct nb_string label,
                 struct nb_string id, struct nb_string source, bool *needs_fields,
                 struct nb_error *error)
{
    *needs_fields = false;
    int rc = label.bytes == NULL ? 0 : nb_check_label(label, error);
    if (rc == 0)
        rc = check(id, source, error);
    if (rc == 0)
        rc = acquire(batch, document, !batch->quarantined, error);
    if (rc == 0)
        rc = check_values(batch, document, needs_fields, error);
    if (rc != 0 || *needs_fields)
        return rc;
    struct nb_submitted change = {.quarantined = batch->quarantined};
    rc = set_id(batch, document, id, &change);
    if (rc == 0)
        rc = nb_buffer_append(&change.label, label.bytes, label.length);
    if (rc == 0)
        rc = nb_buffer_append(&change.source, source.bytes, source.length);
    if (rc == 0)
        rc = tokenize(batch, document, &change);
    return end_change(batch, &change, rc, error);
}

/* A change that needs no document: the caller has filled in what it is. */
static int add_bare(struct nb_batch *batch, struct nb_submitted *change, struct nb_string id,
                    struct nb_string source, struct nb_error *error)
{
    int rc = nb_check_source(source, error);
    if (rc == 0)
        rc = acquire(batch, NULL, false, error);
    if (rc != 0) {
        change_deinit(change);
        return rc;
    }
    if (id.length > 0)
        rc = nb_buffer_append(&change->id, id.bytes, id.length);
    if (rc == 0)
        rc = nb_buffer_append(&change->source, source.bytes, source.length);
    return end_change(batch, change, rc, error);
}

static int add_label(struct nb_batch *batch, struct nb_string id, uint64_t entry,
                     struct nb_string label, struct nb_string source, struct nb_error *error)
{
    struct nb_submitted change = {.is_label = true, .labelled = entry};
    if (batch->quarantined) /* what waits there has its content */
        return nb_error_set(error, NB_UNUSABLE,
                            "a change of the label alone cannot wait in the quarantine: send the "
                            "document, too");
    int rc = label.bytes == NULL ? 0 : nb_check_label(label, error);
    if (rc == 0)
        rc = nb_check_id(id, error);
    if (rc != 0)
        return rc;
    if (nb_buffer_append(&change.label, label.bytes, label.length) != 0)
        return nb_error_no_memory(error);
    return add_bare(batch, &change, id, source, error);
}

int nb_batch_label_entry(struct nb_batch *batch, struct nb_string id, uint64_t entry,
                         struct nb_string label, struct nb_string source, struct nb_error *error)
{
    assert(entry != 0);
    return add_label(batch, id, entry, label, source, error);
}

int nb_batch_take_back(struct nb_batch *batch, struct nb_string id, uint64_t taken,
                       uint64_t restored, struct nb_string source, struct nb_error *error)
{
    struct nb_submitted change = {.untrain = restored == 0, .taken = taken, .restored = restored};
    assert(taken != 0 && restored < taken);
    int rc = nb_check_id(id, error);
    return rc != 0 ? rc : add_bare(batch, &change, id, source, error);
}

int nb_batch_age(struct nb_batch *batch, struct nb_string id, uint64_t taken,
                 struct nb_error *error)
{
    struct nb_submitted change = {.untrain = true, .taken = taken, .is_aged = true};
    static const struct nb_string source = {NB_SOURCE_AGEING, sizeof NB_SOURCE_AGEING - 1};
    assert(taken != 0);
    return add_bare(batch, &change, id, source, error);
}

int nb_batch_note(struct nb_batch *batch, struct nb_string asked, uint32_t documents,
                  struct nb_string source, struct nb_error *error)
{
    struct nb_submitted change = {.is_note = true, .note_documents = documents};
    assert(asked.length <= 1024);
    if (nb_buffer_append(&change.label, asked.bytes, asked.length) != 0)
        return nb_error_no_memory(error);
    int rc = add_bare(batch, &change, (struct nb_string){"", 0}, source, error);
    return rc;
}

int nb_batch_refit(struct nb_batch *batch, enum nb_refit_part part, struct nb_string source,
                   struct nb_error *error)
{
    struct nb_submitted change = {.is_refit = true, .part = part};
    return add_bare(batch, &change, (struct nb_string){"", 0}, source, error);
}

/* ---- the quarantine -------------------------------------------------------------------------- */

void nb_batch_quarantine(struct nb_batch *batch, bool quarantined)
{
    batch->quarantined = quarantined;
}

/* Features without rows, in the order in which they were stored. */
static int unpack_features(const struct nb_quarantined *q, struct nb_submitted *change)
{
    struct nb_unpacker u = nb_unpacker_of(q->features.bytes, q->features.length);
    change->features = malloc((q->feature_count + 1) * sizeof *change->features);
    if (change->features == NULL)
        return NB_NO_MEMORY;
    for (size_t i = 0; i < q->feature_count; i++) {
        struct nb_quarantined_feature f = nb_quarantined_next(&u);
        change->features[i] = (struct nb_pending){.id = f.id, .count = f.count, .row = NB_NO_ROW};
        if (keep_text(change, &change->features[i], f.text) != 0)
            return NB_NO_MEMORY;
    }
    assert(nb_unpacker_done(&u));
    change->feature_count = q->feature_count;
    return 0;
}

/* ---- the history ----------------------------------------------------------------------------- */

/* Whether the document is learned or stored; also if that cannot be read, which the writer finds
 * again. */
static bool is_in_ledger(const struct nb_batch *batch, struct nb_string id)
{
    struct nb_view view;
    struct nb_entry entry = {0};
    if (nb_store_snapshot(batch->engine->store, &view, NULL) != 0)
        return true;
    int rc = nb_ledger_find(&view, batch->live->number, id, &entry, NULL);
    nb_store_snapshot_end(&view);
    nb_entry_deinit(&entry);
    return rc != NB_NOT_FOUND;
}

/* Finds what the history has of a document that is neither learned nor stored. Returns 0,
 * NB_NOT_FOUND without a text, or a code. */
static int find_remembered(struct nb_batch *batch, struct nb_string id, struct nb_buffer *stored,
                           struct nb_error *error)
{
    int rc = nb_check_id(id, error);
    if (rc == 0)
        rc = acquire(batch, NULL, false, error);
    if (rc != 0)
        return rc;
    if (nb_remember_limits(batch->live).records == 0 || is_in_ledger(batch, id))
        return NB_NOT_FOUND;
    rc = nb_remember_find(batch->engine, batch->live, id, stored, error);
    return rc == NB_CORRUPT ? NB_NOT_FOUND : rc;
}

/* Into the batch's bag. What was kept without words cannot be learned with them. */
static int read_features(struct nb_batch *batch, const struct nb_history_record *record,
                         struct nb_error *error)
{
    struct nb_features_coder *coder = nb_features_coder_new();
    if (coder == NULL)
        return nb_error_no_memory(error);
    int rc = nb_remember_bag(record, batch->live->key, coder, &batch->scratch, error);
    nb_features_coder_free(&coder);
    if (rc == 0 && record->feature_count > 0 && !nb_features_have_texts(record->features) &&
        nb_remember_keeps_texts(batch->engine, batch->live))
        rc = nb_error_set(error, NB_CONFLICT,
                          "the history has the document without its words, which are kept now");
    return rc == NB_CORRUPT ? nb_error_set(error, NB_DAMAGED, "the history is damaged") : rc;
}

/* Trains a document as the history keeps it. */
static int recall(struct nb_batch *batch, struct nb_string id, struct nb_string stored,
                  struct nb_string label, struct nb_string source, struct nb_error *error)
{
    struct nb_history_record record;
    int rc = label.bytes == NULL ? 0 : nb_check_label(label, error);
    if (rc == 0)
        rc = nb_history_read(&record, stored, error);
    if (rc != 0)
        return rc;
    rc = read_features(batch, &record, error);
    if (rc != 0)
        return rc;
    struct nb_submitted change = {
        .is_recalled = true, .quarantined = batch->quarantined, .fields = record.fields};
    if (nb_buffer_append(&change.label, label.bytes, label.length) != 0 ||
        take_features(batch->live->counts, &batch->scratch, &change) != 0)
        return end_change(batch, &change, NB_NO_MEMORY, error);
    return add_bare(batch, &change, id, source, error);
}

int nb_batch_label(struct nb_batch *batch, struct nb_string id, struct nb_string label,
                   struct nb_string source, struct nb_error *error)
{
    struct nb_buffer stored = {0};
    int rc = find_remembered(batch, id, &stored, error);
    if (rc == 0)
        rc = recall(batch, id, (struct nb_string){stored.bytes, stored.length}, label, source,
                    error);
    else if (rc == NB_NOT_FOUND)
        rc = add_label(batch, id, 0, label, source, error);
    nb_buffer_deinit(&stored);
    return rc;
}

int nb_batch_forget(struct nb_batch *batch, struct nb_string id, struct nb_string source,
                    struct nb_error *error)
{
    struct nb_submitted change = {
        .untrain = true, .forgets = true, .quarantined = batch->quarantined};
    int rc = nb_check_id(id, error);
    return rc != 0 ? rc : add_bare(batch, &change, id, source, error);
}

int nb_batch_release(struct nb_batch *batch, struct nb_string id, struct nb_string stored,
                     struct nb_error *error)
{
    struct nb_quarantined q;
    int rc = nb_quarantined_read(&q, stored, error);
    if (rc != 0)
        return rc;
    struct nb_submitted change = {.untrain = q.untrain,
                                  .truncated = q.truncated,
                                  .fields = q.fields,
                                  .positions = q.positions};
    if (nb_buffer_append(&change.released, stored.bytes, stored.length) != 0 ||
        nb_buffer_append(&change.label, q.label.bytes, q.label.length) != 0 ||
        unpack_features(&q, &change) != 0)
        return end_change(batch, &change, NB_NO_MEMORY, error);
    return add_bare(batch, &change, id, q.source, error);
}

int nb_batch_untrain(struct nb_batch *batch, const struct nb_document *document,
                     struct nb_string id, struct nb_string source, struct nb_error *error)
{
    int rc = check(id, source, error);
    if (rc == 0)
        rc = acquire(batch, document, false, error);
    if (rc != 0)
        return rc;
    struct nb_submitted change = {.untrain = true, .quarantined = batch->quarantined};
    rc = set_id(batch, document, id, &change);
    if (rc == 0)
        rc = nb_buffer_append(&change.source, source.bytes, source.length);
    return end_change(batch, &change, rc, error);
}
