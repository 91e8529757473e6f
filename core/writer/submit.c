/* SPDX-License-Identifier: Apache-2.0 */
#include "core/writer/submit.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/base/label_set.h"
#include "core/base/names.h"
#include "core/base/string.h"
#include "core/ledger/ledger.h"
#include "core/ledger/quarantine_entries.h"
#include "core/model/registry.h"
#include "core/model/relayed.h"
#include "core/writer/remember.h"
#include "core/writer/submit_features.h"
#include "tokenizer/mail_identity.h"

const char *nb_status_name(enum nb_status status)
{
    static const char *const NAMES[NB_STATUSES] = {
        [NB_LEARNED] = "learned",         [NB_UNCHANGED] = "unchanged",
        [NB_RELABELLED] = "relabelled",   [NB_UPDATED] = "updated",
        [NB_FORGOTTEN] = "forgotten",     [NB_NEAR_DUPLICATE] = "near_duplicate",
        [NB_QUARANTINED] = "quarantined", [NB_STORED] = "stored",
        [NB_QUEUED] = "queued",
    };
    assert(status < NB_STATUSES);
    return NAMES[status];
}

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

void nb_submitted_deinit(struct nb_submitted *change)
{
    nb_buffer_deinit(&change->id);
    nb_buffer_deinit(&change->label);
    nb_buffer_deinit(&change->source);
    nb_buffer_deinit(&change->texts);
    nb_buffer_deinit(&change->foreseen_texts);
    nb_buffer_deinit(&change->released);
    nb_buffer_deinit(&change->nearest);
    nb_delta_deinit(&change->delta);
    free(change->known);
    free(change->known_ids);
    nb_bag_beginning_deinit(&change->known_bag);
    free(change->others);
    free(change->receipt.labels);
}

void nb_batch_free(struct nb_batch **batch)
{
    struct nb_batch *b = *batch;
    *batch = NULL;
    if (b == NULL)
        return;
    nb_batch_free(&b->carried);
    for (size_t i = 0; i < b->size; i++)
        nb_submitted_deinit(&b->changes[i]);
    free(b->changes);
    if (b->live != NULL)
        atomic_fetch_sub(&b->live->epoch.pins[b->pin], 1);
    nb_registry_release(b->engine, &b->live);
    nb_bag_deinit(&b->scratch);
    nb_bag_rows_deinit(&b->scratch_rows);
    nb_stack_inputs_deinit(&b->scratch_inputs);
    nb_foreseen_put_back(b->engine, &b->foreseen);
    nb_buffer_deinit(&b->name);
    free(b);
}

void nb_batch_quarantine(struct nb_batch *batch, bool quarantined)
{
    batch->quarantined = quarantined;
}

size_t nb_batch_size(const struct nb_batch *batch)
{
    return batch->size;
}

size_t nb_batch_memory(const struct nb_batch *batch)
{
    return batch->memory + nb_foreseen_memory(batch->foreseen);
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

/* Appends a finished change to the batch. */
static int add_change(struct nb_batch *batch, struct nb_submitted *change)
{
    if (nb_array_reserve(&batch->changes, &batch->room, batch->size + 1, sizeof *change) != 0)
        return NB_NO_MEMORY;
    batch->memory +=
        sizeof *change + nb_submitted_size(change) * sizeof *change->known +
        (change->known_ids == NULL ? 0 : change->known_count) * sizeof *change->known_ids +
        change->known_bag.bytes.capacity + change->other_count * sizeof *change->others +
        change->texts.capacity + change->foreseen_texts.capacity + change->id.capacity +
        change->label.capacity + change->source.capacity + change->released.capacity;
    batch->changes[batch->size++] = *change;
    return 0;
}

/* Moves a finished change into the batch, which then owns it. If it could not be made (`rc` is
 * NB_NO_MEMORY) or the batch cannot grow, it is freed. Returns 0 or NB_NO_MEMORY. */
static int batch_end_change(struct nb_batch *batch, struct nb_submitted *change, int rc,
                            struct nb_error *error)
{
    if (rc == 0)
        rc = add_change(batch, change);
    if (rc == 0)
        return 0;
    nb_submitted_deinit(change);
    return nb_error_no_memory(error);
}

/* ---- the model ------------------------------------------------------------------------------- */

/* A mistyped column name most likely arrives as a value, too. */
static int no_field(const struct nb_document *document, struct nb_string model,
                    struct nb_error *error)
{
    struct nb_string field = nb_utf8_cut(document->values.values[0].name, NB_ATTRIBUTE_NAME_MOST);
    return nb_error_set(error, NB_NOT_FOUND,
                        "'%.*s' is a value of a field (a column of CSV that is not text, label or "
                        "id, or in `values`), and there is no model '%.*s' that has fields: put it "
                        "with the setting `fields` first",
                        (int)field.length, field.bytes, (int)model.length, model.bytes);
}

static int find_model(struct nb_batch *batch, const struct nb_document *document, bool make,
                      struct nb_error *error)
{
    struct nb_string name = {batch->name.bytes, batch->name.length};
    if (!make || document->values.count > 0) { /* values need a model with named fields */
        int rc = nb_registry_acquire(batch->engine, name, false, &batch->live, error);
        if (rc == NB_NOT_FOUND && nb_relay_catch_up(batch->engine, name, false, error) != 0)
            return NB_STOPPING;
        return make && rc == NB_NOT_FOUND ? no_field(document, name, error) : rc;
    }
    enum nb_preset preset = document->kind == NB_DOCUMENT_MAIL ? NB_PRESET_MAIL : NB_PRESET_TEXT;
    return nb_registry_make(batch->engine, name, preset, &batch->live, error);
}

/* Pins the model's epoch: rows that the batch finds in use from now on are not dropped before it is
 * freed. */
static void pin(struct nb_batch *batch)
{
    struct nb_live *live = batch->live;
    unsigned epoch = atomic_load(&live->epoch.now);
    for (;;) {
        batch->pin = epoch & 1;
        atomic_fetch_add(&live->epoch.pins[batch->pin], 1);
        unsigned now = atomic_load(&live->epoch.now);
        if (now == epoch)
            return;
        atomic_fetch_sub(&live->epoch.pins[batch->pin], 1);
        epoch = now;
    }
}

int nb_batch_new_of(struct nb_engine *engine, struct nb_live *live, struct nb_batch **batch,
                    struct nb_error *error)
{
    int rc = nb_batch_new(engine, nb_live_name(live), false, batch, error);
    if (rc != 0)
        return rc;
    assert(atomic_load(&live->loaded));
    atomic_fetch_add(&live->references, 1);
    (*batch)->live = live;
    pin(*batch);
    return 0;
}

int nb_batch_take(struct nb_batch *batch, const struct nb_settings *settings,
                  struct nb_submitted *change, struct nb_error *error)
{
    struct nb_string name = {batch->name.bytes, batch->name.length};
    int rc;
    do {
        rc = nb_registry_find(batch->engine, name, true, &batch->live, error);
        if (rc == NB_NOT_FOUND)
            rc = nb_registry_make_unsaved(batch->engine, name, settings, &batch->live, error);
    } while (rc == NB_EXISTS); /* another thread has made it meanwhile */
    if (rc == 0) {
        pin(batch);
        rc = nb_registry_load(batch->engine, batch->live, error);
    }
    if (rc == NB_DAMAGED) /* the writer reports it when it stages the change */
        rc = 0;
    if (rc != 0) {
        nb_submitted_deinit(change);
        return rc;
    }
    return batch_end_change(batch, change, 0, error);
}

/* Finds and loads the model of the batch, unless the batch has it already; it is referenced until
 * the batch is freed. With `make`, a model that does not exist is created unsaved, with the preset
 * for the kind of the document. Returns 0 or a code (nb_registry_acquire, nb_registry_make). */
static int batch_acquire(struct nb_batch *batch, const struct nb_document *document, bool make,
                         struct nb_error *error)
{
    if (batch->live != NULL)
        return 0;
    int rc = find_model(batch, document, make, error);
    if (rc == 0)
        pin(batch);
    return rc;
}

/* ---- changes --------------------------------------------------------------------------------- */

/* Checks that a label is one, or in a model whose documents have several a set of labels. */
static int check_kind(const struct nb_batch *batch, struct nb_string label, struct nb_error *error)
{
    struct nb_published *published = nb_live_settings(batch->live);
    bool are_several = nb_published_is_several(published);
    nb_published_release(&published);
    if (label.length == 0 || are_several == nb_label_is_set(label))
        return 0;
    (void)nb_error_set(error, NB_UNUSABLE,
                       are_several ? "the documents of the model '%s' have several labels: send "
                                     "`labels`, a list, in place of `label`"
                                   : "the documents of the model '%s' have one label each: send "
                                     "`label`, not `labels` (or make a model with the setting "
                                     "\"label_set\": \"several\")",
                       batch->live->name);
    return nb_error_about(error, NB_UNUSABLE, NULL, are_several ? "label" : "labels");
}

/* Adds a change that needs no document and that the caller has filled in. Takes ownership of it,
 * also on failure. Errors: as nb_batch_untrain. */
static int batch_add_bare(struct nb_batch *batch, struct nb_submitted *change, struct nb_string id,
                          struct nb_string source, struct nb_error *error)
{
    int rc = nb_check_source(source, error);
    if (rc == 0)
        rc = batch_acquire(batch, NULL, false, error);
    if (rc == 0 && change->kind != NB_SUBMITTED_NOTE)
        rc = check_kind(batch, nb_buffer_string(&change->label), error);
    if (rc != 0) {
        nb_submitted_deinit(change);
        return rc;
    }
    if (id.length > 0)
        rc = nb_buffer_append(&change->id, id.bytes, id.length);
    if (rc == 0)
        rc = nb_buffer_append(&change->source, source.bytes, source.length);
    return batch_end_change(batch, change, rc, error);
}

/* ---- the quarantine -------------------------------------------------------------------------- */

/* Reads the features, without rows, in the order in which they were stored. */
static int unpack_features(const struct nb_quarantined *q, struct nb_submitted *change)
{
    struct nb_unpacker u = nb_unpacker_of(q->features.bytes, q->features.length);
    change->others = malloc((q->feature_count + 1) * sizeof *change->others);
    if (change->others == NULL)
        return NB_NO_MEMORY;
    for (size_t i = 0; i < q->feature_count; i++) {
        struct nb_quarantined_feature f = nb_quarantined_next(&u);
        if (nb_submitted_add(change, f.id, f.count, f.text) != 0)
            return NB_NO_MEMORY;
    }
    assert(nb_unpacker_done(&u));
    return 0;
}

int nb_batch_release(struct nb_batch *batch, struct nb_string id, struct nb_string stored,
                     struct nb_error *error)
{
    struct nb_quarantined q;
    int rc = nb_quarantined_read(&q, stored, error);
    if (rc != 0)
        return rc;
    struct nb_submitted change = {.kind = q.untrain ? NB_SUBMITTED_UNTRAIN : NB_SUBMITTED_TRAIN,
                                  .truncated = q.truncated,
                                  .fields = q.fields,
                                  .positions = q.positions};
    if (nb_buffer_append(&change.released, stored.bytes, stored.length) != 0 ||
        nb_buffer_append(&change.label, q.label.bytes, q.label.length) != 0 ||
        unpack_features(&q, &change) != 0)
        return batch_end_change(batch, &change, NB_NO_MEMORY, error);
    return batch_add_bare(batch, &change, id, q.source, error);
}

/* ---- bags ------------------------------------------------------------------------------------ */

int nb_batch_train_bag(struct nb_batch *batch, const struct nb_bag_document *document,
                       struct nb_error *error)
{
    struct nb_published *published = nb_live_settings(batch->live);
    struct nb_submitted change = {.kind = NB_SUBMITTED_TRAIN,
                                  .fields = published->settings.tokenizer_fields,
                                  .judged = document->judged,
                                  .is_judged = true};
    struct nb_bag own = batch->scratch;
    nb_published_release(&published);
    batch->scratch = *document->bag; /* lent for the look-up */
    int rc = nb_buffer_append(&change.label, document->label.bytes, document->label.length);
    if (rc == 0)
        rc = nb_submitted_features(batch, &change);
    batch->scratch = own;
    return rc != 0 ? batch_end_change(batch, &change, rc, error)
                   : batch_add_bare(batch, &change, document->id, document->source, error);
}

/* ---- the history ----------------------------------------------------------------------------- */

/* Whether the document is learned or stored. True also on a read error: the writer will meet the
 * error again. */
static bool batch_is_in_ledger(const struct nb_batch *batch, struct nb_string id)
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

/* Finds the history's record of a document that is neither learned nor stored. Returns 0,
 * NB_NOT_FOUND without an error text, or a code. */
static int find_remembered(struct nb_batch *batch, struct nb_string id, struct nb_buffer *stored,
                           struct nb_error *error)
{
    int rc = nb_check_id(id, error);
    if (rc == 0)
        rc = batch_acquire(batch, NULL, false, error);
    if (rc != 0)
        return rc;
    if (nb_remember_limits(batch->live).records == 0 || batch_is_in_ledger(batch, id))
        return NB_NOT_FOUND;
    rc = nb_remember_find(batch->engine, batch->live, id, stored, error);
    return rc == NB_CORRUPT ? NB_NOT_FOUND : rc;
}

/* Reads the features of a record into the batch's bag. A record without the texts of words is
 * refused if the store keeps them now. */
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

/* Adds a change that trains a document with its record in the history. */
static int recall(struct nb_batch *batch, struct nb_string id, struct nb_string stored,
                  struct nb_string label, struct nb_string source, struct nb_error *error)
{
    struct nb_history_record record;
    int rc = label.bytes == NULL ? 0 : nb_check_label_or_set(label, error);
    if (rc == 0)
        rc = nb_history_read(&record, stored, error);
    if (rc != 0)
        return rc;
    rc = read_features(batch, &record, error);
    if (rc != 0)
        return rc;
    struct nb_submitted change = {
        .kind = NB_SUBMITTED_RECALL, .quarantined = batch->quarantined, .fields = record.fields};
    if (nb_buffer_append(&change.label, label.bytes, label.length) != 0 ||
        nb_submitted_features(batch, &change) != 0)
        return batch_end_change(batch, &change, NB_NO_MEMORY, error);
    return batch_add_bare(batch, &change, id, source, error);
}

/* Adds a change that trains the document `id` with the content that the model's history has of it.
 * `label` as for nb_batch_train. NB_NOT_FOUND: the history has none, or the document is learned or
 * stored already. Other errors: as nb_batch_untrain. */
static int batch_recall(struct nb_batch *batch, struct nb_string id, struct nb_string label,
                        struct nb_string source, struct nb_error *error)
{
    struct nb_buffer stored = {0};
    int rc = find_remembered(batch, id, &stored, error);
    if (rc == 0)
        rc = recall(batch, id, (struct nb_string){stored.bytes, stored.length}, label, source,
                    error);
    nb_buffer_deinit(&stored);
    return rc;
}

/* Changes that need no document: new labels, forgotten documents, refits of weights. */
static int add_label(struct nb_batch *batch, struct nb_string id, uint64_t entry,
                     struct nb_string label, struct nb_string source, struct nb_error *error)
{
    struct nb_submitted change = {.kind = NB_SUBMITTED_LABEL, .current = entry};
    if (batch->quarantined) /* a change in the quarantine needs the document's content */
        return nb_error_set(error, NB_UNUSABLE,
                            "a change of the label alone cannot wait in the quarantine: send the "
                            "document, too");
    int rc = label.bytes == NULL ? 0 : nb_check_label_or_set(label, error);
    if (rc == 0)
        rc = nb_check_id(id, error);
    if (rc != 0)
        return rc;
    if (nb_buffer_append(&change.label, label.bytes, label.length) != 0)
        return nb_error_no_memory(error);
    return batch_add_bare(batch, &change, id, source, error);
}

int nb_batch_label(struct nb_batch *batch, struct nb_string id, struct nb_string label,
                   struct nb_string source, struct nb_error *error)
{
    int rc = batch_recall(batch, id, label, source, error);
    return rc == NB_NOT_FOUND ? add_label(batch, id, 0, label, source, error) : rc;
}

int nb_batch_label_entry(struct nb_batch *batch, struct nb_string id, uint64_t entry,
                         struct nb_string label, struct nb_string source, struct nb_error *error)
{
    assert(entry != 0);
    return add_label(batch, id, entry, label, source, error);
}

int nb_batch_forget(struct nb_batch *batch, struct nb_string id, struct nb_string source,
                    struct nb_error *error)
{
    struct nb_submitted change = {.kind = NB_SUBMITTED_FORGET, .quarantined = batch->quarantined};
    int rc = nb_check_id(id, error);
    return rc != 0 ? rc : batch_add_bare(batch, &change, id, source, error);
}

int nb_batch_take_back(struct nb_batch *batch, struct nb_string id, uint64_t taken,
                       uint64_t restored, struct nb_string source, struct nb_error *error)
{
    struct nb_submitted change = {
        .kind = NB_SUBMITTED_TAKE_BACK, .current = taken, .restored = restored};
    assert(taken != 0 && restored < taken);
    int rc = nb_check_id(id, error);
    return rc != 0 ? rc : batch_add_bare(batch, &change, id, source, error);
}

int nb_batch_age(struct nb_batch *batch, struct nb_string id, uint64_t taken,
                 struct nb_error *error)
{
    struct nb_submitted change = {.kind = NB_SUBMITTED_AGE, .current = taken};
    static const struct nb_string source = {NB_SOURCE_AGEING, sizeof NB_SOURCE_AGEING - 1};
    assert(taken != 0);
    return batch_add_bare(batch, &change, id, source, error);
}

int nb_batch_note(struct nb_batch *batch, struct nb_string asked, uint32_t documents,
                  struct nb_string source, struct nb_error *error)
{
    struct nb_submitted change = {.kind = NB_SUBMITTED_NOTE, .documents = documents};
    assert(asked.length <= 1024);
    if (nb_buffer_append(&change.label, asked.bytes, asked.length) != 0)
        return nb_error_no_memory(error);
    return batch_add_bare(batch, &change, (struct nb_string){"", 0}, source, error);
}

int nb_batch_refit(struct nb_batch *batch, enum nb_refit_part part, struct nb_string source,
                   struct nb_error *error)
{
    struct nb_submitted change = {.kind = NB_SUBMITTED_REFIT, .part = part};
    return batch_add_bare(batch, &change, (struct nb_string){"", 0}, source, error);
}

/* ---- ids ------------------------------------------------------------------------------------- */

/* Writes the bytes that the id of a document with values is made from; `content` represents its
 * text or mail. */
static int write_content(const struct nb_document *document, struct nb_string content,
                         struct nb_buffer *out)
{
    struct nb_packer w = {.out = out};
    nb_pack_u8(&w, (uint8_t)document->kind);
    nb_pack_string(&w, content);
    for (size_t i = 0; i < document->values.count; i++) {
        const struct nb_value *value = &document->values.values[i];
        nb_pack_string(&w, value->name);
        nb_pack_varint(&w, value->is_list ? value->count + 1 : 0);
        for (size_t k = 0; k < value->count; k++)
            nb_pack_string(&w, value->items[k]);
    }
    return w.code;
}

static int make_values_id(const struct nb_key *key, const struct nb_document *document,
                          struct nb_string content, char made[NB_CONTENT_ID_LENGTH + 1])
{
    enum { KIND = 2 }; /* differs from the values of enum nb_document_kind */
    struct nb_buffer bytes = {0};
    int rc = write_content(document, content, &bytes);
    if (rc == 0)
        nb_key_content_id(key, KIND, bytes.bytes, bytes.length, made);
    nb_buffer_deinit(&bytes);
    return rc;
}

int nb_batch_make_id(const struct nb_key *key, const struct nb_document *document,
                     char made[NB_CONTENT_ID_LENGTH + 1])
{
    struct nb_string content = {document->bytes, document->length};
    int rc = 0;
    if (document->kind == NB_DOCUMENT_MAIL) {
        rc = nb_mail_identity(key, content, made);
        content = (struct nb_string){made, NB_CONTENT_ID_LENGTH};
    }
    if (rc == 0 && document->values.count > 0)
        return make_values_id(key, document, content, made);
    if (rc == 0 && document->kind != NB_DOCUMENT_MAIL)
        nb_key_content_id(key, (unsigned char)document->kind, content.bytes, content.length, made);
    return rc;
}

/* Makes the id that older programs gave a mail: from its bytes, not from its identity. */
static int make_former_id(const struct nb_key *key, const struct nb_document *document,
                          char made[NB_CONTENT_ID_LENGTH + 1])
{
    if (document->values.count > 0)
        return make_values_id(key, document, (struct nb_string){document->bytes, document->length},
                              made);
    nb_key_mail_id(key, NB_DOCUMENT_MAIL, document->bytes, document->length, made);
    return 0;
}

/* Whether the model may have mails under ids made by an older program. */
static bool has_former_ids(const struct nb_batch *batch)
{
    struct nb_published *published = nb_live_settings(batch->live);
    bool has = published->settings.tokenizer_version < NB_TOKENIZER_IDENTITIES;
    nb_published_release(&published);
    return has;
}

/* Finds a mail under the id that an older program gave it, and then sets `made` to this id. */
static int find_former(const struct nb_batch *batch, const struct nb_document *document,
                       char made[NB_CONTENT_ID_LENGTH + 1])
{
    char former[NB_CONTENT_ID_LENGTH + 1];
    if (batch_is_in_ledger(batch, (struct nb_string){made, NB_CONTENT_ID_LENGTH}))
        return 0;
    int rc = make_former_id(batch->live->id_key, document, former);
    if (rc == 0 && batch_is_in_ledger(batch, (struct nb_string){former, NB_CONTENT_ID_LENGTH}))
        memcpy(made, former, sizeof former);
    return rc;
}

static int set_id(const struct nb_batch *batch, const struct nb_document *document,
                  struct nb_string id, struct nb_submitted *change)
{
    char made[NB_CONTENT_ID_LENGTH + 1];
    assert(batch->live != NULL);
    if (id.length == 0) {
        int rc = nb_batch_make_id(batch->live->id_key, document, made);
        if (rc == 0 && document->kind == NB_DOCUMENT_MAIL && has_former_ids(batch))
            rc = find_former(batch, document, made);
        if (rc != 0)
            return rc;
        id = (struct nb_string){made, NB_CONTENT_ID_LENGTH};
    }
    return nb_buffer_append(&change->id, id.bytes, id.length);
}

/* ---- changes of documents -------------------------------------------------------------------- */

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
    return rc != 0 ? rc : nb_submitted_features(batch, change);
}

static bool has_new_fields(struct nb_values values, struct nb_attributes attributes)
{
    for (size_t i = 0; i < values.count; i++)
        if (nb_attribute_find(attributes, values.values[i].name) == attributes.count)
            return true;
    return false;
}

/* Checks the values against the model's fields. Fields are never removed, so what is valid now is
 * still valid when the document is tokenized. A document for the quarantine adds no fields. */
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
    int rc = label.bytes == NULL ? 0 : nb_check_label_or_set(label, error);
    if (rc == 0)
        rc = check(id, source, error);
    if (rc == 0)
        rc = batch_acquire(batch, document, !batch->quarantined, error);
    if (rc == 0)
        rc = check_kind(batch, label, error);
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
    return batch_end_change(batch, &change, rc, error);
}

int nb_batch_untrain(struct nb_batch *batch, const struct nb_document *document,
                     struct nb_string id, struct nb_string source, struct nb_error *error)
{
    int rc = check(id, source, error);
    if (rc == 0)
        rc = batch_acquire(batch, document, false, error);
    if (rc != 0)
        return rc;
    struct nb_submitted change = {.kind = NB_SUBMITTED_UNTRAIN, .quarantined = batch->quarantined};
    rc = set_id(batch, document, id, &change);
    if (rc == 0)
        rc = nb_buffer_append(&change.source, source.bytes, source.length);
    return batch_end_change(batch, &change, rc, error);
}
