/* SPDX-License-Identifier: Apache-2.0
 *
 * Start-up: the models' records, and a model's counts: read the stored ranges, then replay the
 * ledger's entries that some range does not have yet. One loop, no repair step: a range takes from
 * an entry only what is newer than the range's own mark.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/engine_private.h"

/* ---- records of models ----------------------------------------------------------------------- */

int nb_model_record_write(const struct nb_live *live, const struct nb_settings *settings,
                          struct nb_buffer *out)
{
    struct nb_packer w = {.out = out};
    struct nb_buffer stored = {0};
    nb_pack_varint(&w, live->number);
    nb_pack_bytes(&w, live->key.bytes, NB_KEY_BYTES);
    if (w.code == 0)
        w.code = nb_settings_write(settings, &stored);
    nb_pack_string(&w, (struct nb_string){stored.bytes, stored.length});
    nb_buffer_deinit(&stored);
    return w.code;
}

static int load_record(void *user, struct nb_string key, struct nb_string value,
                       struct nb_error *error)
{
    struct nb_engine *engine = user;
    struct nb_unpacker r = nb_unpacker_of(value.bytes, value.length);
    uint32_t number = (uint32_t)nb_unpack_bounded(&r, UINT32_MAX);
    struct nb_string bytes = nb_unpack_bytes(&r, NB_KEY_BYTES);
    struct nb_string stored = nb_unpack_string(&r);
    if (!nb_unpacker_done(&r) || bytes.length != NB_KEY_BYTES)
        return nb_error_set(error, NB_CORRUPT,
                            "the store is damaged: the record of model '%.*s' does not read back",
                            (int)key.length, key.bytes);
    struct nb_key secret;
    nb_key_restore(&secret, (const unsigned char *)bytes.bytes);
    struct nb_settings settings;
    int rc = nb_settings_read(&settings, stored, error);
    if (rc != 0)
        return rc;
    struct nb_live *live = nb_live_new(key, number, &secret, &settings);
    nb_settings_deinit(&settings);
    if (live == NULL)
        return nb_error_no_memory(error);
    atomic_store(&live->persisted, true);
    rc = nb_registry_insert(engine, live, error);
    if (rc != 0)
        nb_live_free(live);
    return rc;
}

int nb_load_models(struct nb_engine *engine, struct nb_error *error)
{
    static const struct nb_string next = {"next_model", 10};
    struct nb_view view;
    int rc = nb_store_snapshot(engine->store, &view, error);
    if (rc != 0)
        return rc;
    rc = nb_store_scan(&view, NB_TABLE_MODELS, (struct nb_string){"", 0}, 0, load_record, engine,
                       error);
    struct nb_string value;
    int got = rc != 0 ? rc : nb_store_get(&view, NB_TABLE_META, next, &value, error);
    if (got == 0) {
        struct nb_unpacker r = nb_unpacker_of(value.bytes, value.length);
        engine->next_stored = (uint32_t)nb_unpack_bounded(&r, UINT32_MAX);
    } else if (got != NB_NOT_FOUND) {
        rc = got;
    }
    nb_store_snapshot_end(&view);
    if (engine->next_stored == 0)
        engine->next_stored = 1;
    atomic_store(&engine->next_number, engine->next_stored);
    return rc;
}

/* ---- counts ---------------------------------------------------------------------------------- */

struct loading {
    const struct nb_view *view;
    struct nb_live *live;
    struct nb_model *model;
    struct nb_state_record state;
    uint64_t *marks; /* per stored range */
    size_t range_count, range_room;
    uint32_t labels;   /* records read */
    uint64_t replayed; /* feature changes */
    struct nb_rows rows;
};

static int load_label(void *user, struct nb_string key, struct nb_string value,
                      struct nb_error *error)
{
    struct loading *l = user;
    struct nb_string name;
    uint64_t documents;
    int rc = nb_label_read(value, &name, &documents, error);
    if (rc != 0)
        return rc;
    uint32_t label;
    rc = nb_model_label(l->model, name, &label);
    if (rc == NB_NO_MEMORY)
        return nb_error_no_memory(error);
    if (rc != 0 || label != l->labels || nb_store_key_tail(key) != label)
        return nb_error_set(error, NB_CORRUPT, "the store is damaged: labels out of order");
    l->labels++;
    nb_model_add_documents(l->model, label, (int64_t)documents);
    return 0;
}

static int load_range(void *user, struct nb_string key, struct nb_string value,
                      struct nb_error *error)
{
    struct loading *l = user;
    if (l->range_count == l->range_room) {
        size_t room = l->range_room == 0 ? 64 : l->range_room * 2;
        uint64_t *marks = realloc(l->marks, room * sizeof *marks);
        if (marks == NULL)
            return nb_error_no_memory(error);
        l->marks = marks;
        l->range_room = room;
    }
    if (nb_store_key_tail(key) != l->range_count)
        return nb_error_set(error, NB_CORRUPT, "the store is damaged: a range of rows is missing");
    int rc = nb_range_read(l->model, (uint32_t)l->range_count * NB_RANGE_ROWS, value,
                           &l->marks[l->range_count], error);
    l->range_count++;
    return rc;
}

static int append_new_rows(struct loading *l, const struct nb_entry *entry, struct nb_error *error)
{
    for (size_t i = 0; i < entry->new_count; i++) {
        uint64_t id = nb_entry_new_id(entry, i);
        uint64_t row = entry->first_row + (uint64_t)i;
        uint32_t rows = nb_model_rows(l->model);
        if (row < rows && nb_model_row_id(l->model, (uint32_t)row) == id)
            continue;
        uint32_t made;
        if (row != rows || nb_feature_field(id) >= NB_FIELDS ||
            nb_model_find(l->model, id) != NB_NO_ROW)
            return nb_error_set(error, NB_CORRUPT,
                                "the store is damaged: a ledger entry's new features do not fit");
        if (nb_model_append(l->model, id, &made) != 0)
            return nb_error_no_memory(error);
    }
    return 0;
}

/* Brings an entry's bag into the ranges that do not have the entry `sequence` yet. */
static int apply(struct loading *l, const struct nb_entry *entry, uint64_t sequence, int sign,
                 struct nb_error *error)
{
    int rc = nb_bag_decode(entry->bag, nb_model_rows(l->model), &l->rows, error);
    if (rc != 0)
        return rc;
    size_t kept = 0;
    for (size_t i = 0; i < l->rows.size; i++) {
        size_t range = l->rows.counts[i].row / NB_RANGE_ROWS;
        if (range >= l->range_count || l->marks[range] < sequence)
            l->rows.counts[kept++] = l->rows.counts[i];
    }
    if (entry->label >= nb_model_label_count(l->model))
        return nb_error_set(error, NB_CORRUPT, "the store is damaged: an entry's label is unknown");
    l->rows.size = kept;
    l->replayed += kept;
    rc = nb_model_add(l->model, entry->label, l->rows.counts, kept, sign, NULL);
    if (rc == 0)
        rc = nb_checkpoint_touch(&l->live->checkpoint, &l->rows, nb_model_rows(l->model));
    return rc == 0 ? 0
                   : nb_error_set(error, rc, "replaying ledger entry %" PRIu64 " failed", sequence);
}

static int replay_entry(void *user, struct nb_string key, struct nb_string value,
                        struct nb_error *error)
{
    struct loading *l = user;
    uint64_t sequence = nb_store_key_tail(key);
    struct nb_entry entry;
    int rc = nb_entry_read(&entry, value, error);
    l->replayed++;
    if (rc == 0)
        rc = append_new_rows(l, &entry, error);
    if (rc == 0 && entry.replaced != 0) {
        struct nb_store_key old_key = nb_store_key_sequence(l->live->number, entry.replaced);
        struct nb_string stored;
        struct nb_entry old;
        rc = nb_store_get(l->view, NB_TABLE_LEDGER, nb_store_key_string(&old_key), &stored, error);
        if (rc == NB_NOT_FOUND)
            rc = nb_error_set(
                error, NB_CORRUPT,
                "the store is damaged: entry %" PRIu64 " replaces one that is missing", sequence);
        if (rc == 0)
            rc = nb_entry_read(&old, stored, error);
        if (rc == 0)
            rc = apply(l, &old, sequence, -1, error);
    }
    if (rc == 0 && entry.kind == NB_ENTRY_LEARNED)
        rc = apply(l, &entry, sequence, 1, error);
    return rc;
}

static int load_state(struct loading *l, struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_model(l->live->number);
    struct nb_string stored;
    int rc = nb_store_get(l->view, NB_TABLE_STATE, nb_store_key_string(&key), &stored, error);
    if (rc == 0)
        return nb_state_read(&l->state, stored, error);
    l->state = (struct nb_state_record){.replay = 1};
    return rc == NB_NOT_FOUND ? 0 : rc;
}

/* A model that was never stacked has no weights but those that it starts with. */
static int load_weights(struct loading *l, struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_model(l->live->number);
    struct nb_string stored;
    int rc = nb_store_get(l->view, NB_TABLE_STACK, nb_store_key_string(&key), &stored, error);
    if (rc != 0)
        return rc == NB_NOT_FOUND ? 0 : rc;
    struct nb_unpacker r = nb_unpacker_of(stored.bytes, stored.length);
    rc = nb_stack_weights_read(l->live->published->weights, &r);
    if (rc == NB_NO_MEMORY)
        return nb_error_no_memory(error);
    if (rc == 0 && nb_unpacker_done(&r))
        return 0;
    return nb_error_set(error, NB_CORRUPT,
                        "the store is damaged: the weights of a stack do not read back");
}

static int load_all(struct loading *l, struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_model(l->live->number);
    struct nb_string prefix = nb_store_key_string(&key);
    int rc = load_state(l, error);
    if (rc == 0)
        rc = load_weights(l, error);
    if (rc == 0 && nb_model_reserve(l->model, l->state.rows) != 0)
        rc = nb_error_no_memory(error);
    if (rc == 0)
        rc = nb_store_scan(l->view, NB_TABLE_LABELS, prefix, prefix.length, load_label, l, error);
    if (rc == 0)
        rc = nb_store_scan(l->view, NB_TABLE_ROWS, prefix, prefix.length, load_range, l, error);
    struct nb_store_key from = nb_store_key_sequence(l->live->number, l->state.replay);
    if (rc == 0)
        rc = nb_store_scan(l->view, NB_TABLE_LEDGER, nb_store_key_string(&from), prefix.length,
                           replay_entry, l, error);
    if (rc == 0 && nb_model_rows(l->model) != l->state.rows)
        rc = nb_error_set(error, NB_CORRUPT,
                          "the store is damaged: %" PRIu32 " features read back, %" PRIu32
                          " were written",
                          nb_model_rows(l->model), l->state.rows);
    return rc;
}

int nb_load_counts(struct nb_engine *engine, struct nb_live *live, struct nb_error *error)
{
    struct nb_view view;
    struct loading l = {.view = &view, .live = live, .model = nb_model_new()};
    if (l.model == NULL)
        return nb_error_no_memory(error);
    free(live->checkpoint.dirty);
    live->checkpoint = (struct nb_checkpoint){.replay = 1};
    int rc = nb_store_snapshot(engine->store, &view, error);
    if (rc == 0) {
        rc = load_all(&l, error);
        nb_store_snapshot_end(&view);
    }
    if (rc == 0) {
        live->checkpoint.last = l.state.last;
        live->checkpoint.replay = l.state.replay;
        live->checkpoint.garbage = true;
        live->checkpoint.tail_features = l.replayed;
        atomic_store(&live->tail, l.replayed);
        live->labels_stored = l.labels;
        live->counts = l.model;
        l.model = NULL;
    }
    nb_model_free(&l.model);
    nb_rows_deinit(&l.rows);
    free(l.marks);
    return rc;
}
