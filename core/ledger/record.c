/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ledger/record.h"

#include <assert.h>
#include <string.h>

#include "core/base/pack.h"

static int corrupt(struct nb_error *error, const char *what)
{
    return nb_error_set(error, NB_CORRUPT, "the store is damaged: %s does not read back", what);
}

int nb_state_write(const struct nb_state_record *state, struct nb_buffer *out)
{
    struct nb_packer w = {.out = out};
    nb_pack_varint(&w, state->last);
    nb_pack_varint(&w, state->replay);
    nb_pack_varint(&w, state->tail);
    nb_pack_varint(&w, state->vocabulary);
    nb_pack_varint(&w, state->rows);
    nb_pack_varint(&w, state->labels);
    nb_pack_varint(&w, state->weights);
    nb_pack_varint(&w, state->totals.entries);
    nb_pack_varint(&w, state->totals.current);
    nb_pack_varint(&w, state->totals.unlabelled);
    nb_pack_varint(&w, state->totals.scores);
    nb_pack_varint(&w, state->totals.dropped);
    nb_pack_varint(&w, state->twin.ranges);
    nb_pack_varint(&w, state->twin.oldest);
    nb_pack_varint(&w, state->twin.first);
    nb_pack_varint(&w, state->twin.next);
    return w.code;
}

int nb_state_read(struct nb_state_record *state, struct nb_string stored, struct nb_error *error)
{
    struct nb_unpacker r = nb_unpacker_of(stored.bytes, stored.length);
    state->last = nb_unpack_varint(&r);
    state->replay = nb_unpack_varint(&r);
    state->tail = nb_unpack_varint(&r);
    state->vocabulary = nb_unpack_varint(&r);
    state->rows = (uint32_t)nb_unpack_bounded(&r, UINT32_MAX);
    state->labels = (uint32_t)nb_unpack_bounded(&r, UINT32_MAX);
    state->weights = (uint32_t)nb_unpack_bounded(&r, UINT32_MAX);
    state->totals.entries = nb_unpack_varint(&r);
    state->totals.current = nb_unpack_varint(&r);
    state->totals.unlabelled = nb_unpack_bounded(&r, state->totals.current);
    state->totals.scores = nb_unpack_varint(&r);
    state->totals.dropped = nb_unpack_varint(&r);
    state->twin.ranges = (uint32_t)nb_unpack_bounded(&r, UINT32_MAX);
    state->twin.oldest = nb_unpack_varint(&r);
    state->twin.first = nb_unpack_varint(&r);
    state->twin.next = nb_unpack_varint(&r);
    return nb_unpacker_done(&r) ? 0 : corrupt(error, "a model's state");
}

int nb_label_write(const struct nb_label_record *label, struct nb_buffer *out)
{
    struct nb_packer w = {.out = out};
    nb_pack_string(&w, label->name);
    nb_pack_varint(&w, label->documents);
    nb_pack_varint(&w, label->tokens);
    return w.code;
}

int nb_label_read(struct nb_label_record *label, struct nb_string stored, struct nb_error *error)
{
    struct nb_unpacker r = nb_unpacker_of(stored.bytes, stored.length);
    label->name = nb_unpack_string(&r);
    label->documents = nb_unpack_varint(&r);
    label->tokens = nb_unpack_varint(&r);
    return nb_unpacker_done(&r) ? 0 : corrupt(error, "a label");
}

int nb_own_key_write(const struct nb_own_key *key, struct nb_buffer *out)
{
    struct nb_packer w = {.out = out};
    if (!key->present)
        return 0;
    nb_pack_u8(&w, key->hashes_features);
    nb_pack_bytes(&w, key->bytes, NB_KEY_BYTES);
    return w.code;
}

int nb_own_key_read(struct nb_own_key *key, struct nb_string stored, struct nb_error *error)
{
    struct nb_unpacker r = nb_unpacker_of(stored.bytes, stored.length);
    *key = (struct nb_own_key){.present = stored.length > 0};
    if (!key->present)
        return 0;
    key->hashes_features = nb_unpack_u8(&r) != 0;
    struct nb_string bytes = nb_unpack_bytes(&r, NB_KEY_BYTES);
    if (!nb_unpacker_done(&r))
        return corrupt(error, "a model's key");
    memcpy(key->bytes, bytes.bytes, NB_KEY_BYTES);
    return 0;
}

int nb_model_record_write(const struct nb_model_record *record, struct nb_buffer *out)
{
    struct nb_packer w = {.out = out};
    assert(record->number != 0);
    nb_pack_varint(&w, record->number);
    nb_pack_string(&w, record->settings);
    nb_pack_string(&w, record->key);
    return w.code;
}

int nb_model_record_read(struct nb_model_record *record, struct nb_string stored,
                         struct nb_error *error)
{
    struct nb_unpacker r = nb_unpacker_of(stored.bytes, stored.length);
    record->number = (uint32_t)nb_unpack_bounded(&r, UINT32_MAX);
    record->settings = nb_unpack_string(&r);
    record->key = nb_unpack_string(&r);
    return nb_unpacker_done(&r) && record->number != 0 ? 0 : corrupt(error, "a model's record");
}

static const struct nb_string MODEL_KEY = {"greatest_model", 14};

/* Finds the greatest model number at the beginning of a key in the table. */
static int greatest_in_table(const struct nb_view *view, enum nb_table table,
                             struct nb_serials *serials, struct nb_error *error)
{
    struct nb_store_key most = nb_store_key_sequence(UINT32_MAX, UINT64_MAX);
    struct nb_string key;
    struct nb_string value;
    int rc = nb_store_floor(view, table, nb_store_key_string(&most), 0, &key, &value, error);
    if (rc == NB_NOT_FOUND)
        return 0;
    /* A damaged row still has a key, so its number is not used again. */
    if (rc != 0 && rc != NB_CORRUPT)
        return rc;
    uint32_t number = nb_store_key_head(key);
    if (key.length >= sizeof number && number > serials->model && number != UINT32_MAX)
        serials->model = number;
    return 0;
}

/* Looks at the record of a model. A damaged record is skipped: its number is also in the model's
 * rows in other tables, and in its entries. */
static int model_record(void *user, enum nb_table table, struct nb_string key,
                        struct nb_string value, bool sound, struct nb_error *error)
{
    struct nb_serials *serials = user;
    struct nb_model_record record;
    (void)table;
    (void)key;
    if (sound && nb_model_record_read(&record, value, error) == 0 && record.number > serials->model)
        serials->model = record.number;
    return 0;
}

static int greatest_entry(const struct nb_view *view, struct nb_serials *serials,
                          struct nb_error *error)
{
    struct nb_store_key most = nb_store_key_entry(UINT64_MAX, UINT16_MAX);
    struct nb_string key;
    struct nb_string value;
    int rc =
        nb_store_floor(view, NB_TABLE_LEDGER, nb_store_key_string(&most), 0, &key, &value, error);
    if (rc == NB_NOT_FOUND)
        return 0;
    if (rc == 0 || rc == NB_CORRUPT)
        serials->entry = nb_store_key_entry_number(key);
    return rc == NB_CORRUPT ? 0 : rc;
}

int nb_serials_load(const struct nb_view *view, struct nb_serials *serials, struct nb_error *error)
{
    static const enum nb_table tables[] = {
        NB_TABLE_STATE,   NB_TABLE_LABELS,  NB_TABLE_ENTRIES,    NB_TABLE_DOCUMENTS,
        NB_TABLE_ROWS,    NB_TABLE_WORDS,   NB_TABLE_WEIGHTS,    NB_TABLE_SCORES,
        NB_TABLE_GARBAGE, NB_TABLE_ORPHANS, NB_TABLE_QUARANTINE, NB_TABLE_WAITING,
        NB_TABLE_KEPT,    NB_TABLE_TWIN,    NB_TABLE_HISTORY,    NB_TABLE_HISTORY_IDS};
    struct nb_string value;
    *serials = (struct nb_serials){0};
    int rc = nb_store_get(view, NB_TABLE_META, MODEL_KEY, &value, error);
    if (rc == 0) {
        struct nb_unpacker r = nb_unpacker_of(value.bytes, value.length);
        serials->model = (uint32_t)nb_unpack_bounded(&r, UINT32_MAX);
    }
    if (rc == NB_CORRUPT)
        rc = nb_error_set(error, rc,
                          "the store is damaged: the greatest number of a model does not read "
                          "back; run bayesd --rebuild");
    rc = rc == NB_NOT_FOUND ? 0 : rc;
    for (size_t i = 0; rc == 0 && i < sizeof tables / sizeof *tables; i++)
        rc = greatest_in_table(view, tables[i], serials, error);
    if (rc == 0)
        rc = nb_store_inspect(view, NB_TABLE_MODELS, model_record, serials, error);
    return rc != 0 ? rc : greatest_entry(view, serials, error);
}

int nb_serials_model(struct nb_serials *serials, const struct nb_view *view, uint32_t *number,
                     struct nb_error *error)
{
    struct nb_buffer stored = {0};
    struct nb_packer w = {.out = &stored};
    if (serials->model >= UINT32_MAX - 1)
        return nb_error_set(error, NB_TOO_LARGE, "4 billion models were made in this store");
    nb_pack_varint(&w, (uint64_t)serials->model + 1);
    int rc = w.code != 0 ? nb_error_no_memory(error)
                         : nb_store_put(view, NB_TABLE_META, MODEL_KEY,
                                        (struct nb_string){stored.bytes, stored.length}, error);
    nb_buffer_deinit(&stored);
    if (rc == 0)
        *number = ++serials->model;
    return rc;
}
