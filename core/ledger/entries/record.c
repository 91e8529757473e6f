/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ledger/entries/record.h"

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
