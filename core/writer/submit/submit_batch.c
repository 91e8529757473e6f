/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdlib.h>

#include "core/base/array.h"
#include "core/base/string.h"
#include "core/model/live/names.h"
#include "core/model/live/relay.h"
#include "core/model/registry/registry.h"
#include "core/writer/submit/submit_batch_private.h"
#include "core/writer/submit/submit_features.h"

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
    nb_buffer_deinit(&change->twin);
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
        atomic_fetch_sub(&b->live->pins[b->pin], 1);
    nb_registry_release(b->engine, &b->live);
    nb_bag_deinit(&b->scratch);
    nb_bag_rows_deinit(&b->scratch_rows);
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
        if (rc == NB_NOT_FOUND && nb_relay_check_missing(batch->engine, name, error) != 0)
            return NB_STOPPING;
        return make && rc == NB_NOT_FOUND ? no_field(document, name, error) : rc;
    }
    struct nb_settings settings;
    nb_settings_init(&settings,
                     document->kind == NB_DOCUMENT_MAIL ? NB_PRESET_MAIL : NB_PRESET_TEXT);
    int rc = nb_registry_make(batch->engine, name, &settings, &batch->live, error);
    nb_settings_deinit(&settings);
    return rc;
}

/* Pins the model's epoch: rows that the batch finds in use from now on are not dropped before it is
 * freed. */
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
    return nb_batch_end_change(batch, change, 0, error);
}

int nb_batch_acquire(struct nb_batch *batch, const struct nb_document *document, bool make,
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

/* Appends the change; frees it if it could not be made (`rc`) or appended. */
int nb_batch_end_change(struct nb_batch *batch, struct nb_submitted *change, int rc,
                        struct nb_error *error)
{
    if (rc == 0)
        rc = add_change(batch, change);
    if (rc == 0)
        return 0;
    nb_submitted_deinit(change);
    return nb_error_no_memory(error);
}

/* Adds a change that needs no document; the caller has set its kind. */
int nb_batch_add_bare(struct nb_batch *batch, struct nb_submitted *change, struct nb_string id,
                      struct nb_string source, struct nb_error *error)
{
    int rc = nb_check_source(source, error);
    if (rc == 0)
        rc = nb_batch_acquire(batch, NULL, false, error);
    if (rc != 0) {
        nb_submitted_deinit(change);
        return rc;
    }
    if (id.length > 0)
        rc = nb_buffer_append(&change->id, id.bytes, id.length);
    if (rc == 0)
        rc = nb_buffer_append(&change->source, source.bytes, source.length);
    return nb_batch_end_change(batch, change, rc, error);
}
