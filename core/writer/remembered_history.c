/* SPDX-License-Identifier: Apache-2.0 */
#include "core/writer/remembered_history.h"

#include <assert.h>

enum { MODEL_BYTES = 4, CLEARED = 1000 };

/* ---- the record ------------------------------------------------------------------------------ */

int nb_history_write(const struct nb_history_record *record, struct nb_buffer *out)
{
    struct nb_packer p = {.out = out};
    nb_pack_u8(&p, record->truncated);
    nb_pack_u64(&p, (uint64_t)record->time);
    nb_pack_string(&p, record->id);
    nb_pack_string(&p, record->message_id);
    nb_pack_string(&p, record->subject);
    nb_pack_string(&p, record->source);
    nb_pack_string(&p, record->verdict);
    nb_pack_double(&p, record->probability);
    nb_pack_varint(&p, record->fields);
    nb_pack_varint(&p, record->positions);
    nb_pack_varint(&p, record->feature_count);
    nb_pack_string(&p, record->features);
    nb_pack_bytes(&p, record->repeats.bytes, record->repeats.length);
    return p.code;
}

int nb_history_read(struct nb_history_record *record, struct nb_string stored,
                    struct nb_error *error)
{
    struct nb_unpacker u = nb_unpacker_of(stored.bytes, stored.length);
    uint8_t flags = nb_unpack_u8(&u);
    *record = (struct nb_history_record){.truncated = flags == 1};
    record->time = (int64_t)nb_unpack_u64(&u);
    record->id = nb_unpack_string(&u);
    record->message_id = nb_unpack_string(&u);
    record->subject = nb_unpack_string(&u);
    record->source = nb_unpack_string(&u);
    record->verdict = nb_unpack_string(&u);
    record->probability = nb_unpack_double(&u);
    record->fields = (uint32_t)nb_unpack_bounded(&u, UINT32_MAX);
    record->positions = nb_unpack_varint(&u);
    record->feature_count = (size_t)nb_unpack_bounded(&u, UINT32_MAX);
    record->features = nb_unpack_string(&u);
    record->repeats = (struct nb_string){(const char *)u.at, (size_t)(u.end - u.at)};
    if (!u.failed && flags <= 1 && record->id.length > 0 && record->verdict.length > 0)
        return 0;
    return nb_error_set(error, NB_CORRUPT, "a verdict in the history does not read back");
}

/* ---- the tables ------------------------------------------------------------------------------ */

static int number_of(const struct nb_view *view, uint32_t model, struct nb_string id,
                     uint64_t *number, struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_id(model, id);
    struct nb_string value;
    int rc = nb_store_get(view, NB_TABLE_HISTORY_IDS, nb_store_key_string(&key), &value, error);
    if (rc != 0)
        return rc;
    struct nb_unpacker u = nb_unpacker_of(value.bytes, value.length);
    *number = nb_unpack_varint(&u);
    return nb_unpacker_done(&u) && *number > 0
               ? 0
               : nb_error_set(error, NB_CORRUPT, "the history does not read back");
}

/* Sets *next to the number after the newest record's. A damaged record still has its number. */
static int next_number(const struct nb_view *view, uint32_t model, uint64_t *next,
                       struct nb_error *error)
{
    struct nb_store_key most = nb_store_key_sequence(model, UINT64_MAX);
    struct nb_string key, value;
    int rc = nb_store_floor(view, NB_TABLE_HISTORY, nb_store_key_string(&most), MODEL_BYTES, &key,
                            &value, error);
    *next = 1;
    if (rc == 0 || rc == NB_CORRUPT)
        *next = nb_store_key_tail(key) + 1;
    return rc == NB_NOT_FOUND || rc == NB_CORRUPT ? 0 : rc;
}

static int put_number(const struct nb_view *view, uint32_t model, struct nb_string id,
                      uint64_t number, struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_id(model, id);
    struct nb_buffer value = {0};
    struct nb_packer p = {.out = &value};
    nb_pack_varint(&p, number);
    int rc = p.code != 0 ? nb_error_no_memory(error)
                         : nb_store_put(view, NB_TABLE_HISTORY_IDS, nb_store_key_string(&key),
                                        (struct nb_string){value.bytes, value.length}, error);
    nb_buffer_deinit(&value);
    return rc;
}

int nb_history_clear(const struct nb_view *view, uint32_t model, struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_model(model);
    struct nb_string prefix = nb_store_key_string(&key);
    static const enum nb_table tables[] = {NB_TABLE_HISTORY, NB_TABLE_HISTORY_IDS};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < sizeof tables / sizeof *tables; i++) {
        size_t deleted = CLEARED;
        while (rc == 0 && deleted == CLEARED)
            rc = nb_store_clear(view, tables[i], prefix, CLEARED, &deleted, error);
    }
    return rc;
}

int nb_history_remove(const struct nb_view *view, uint32_t model, struct nb_string id,
                      bool *removed, struct nb_error *error)
{
    uint64_t number;
    *removed = false;
    int rc = number_of(view, model, id, &number, error);
    if (rc == NB_CORRUPT) { /* the record to remove is unknown */
        *removed = true;
        return nb_history_clear(view, model, error);
    }
    if (rc != 0)
        return rc == NB_NOT_FOUND ? 0 : rc;
    struct nb_store_key key = nb_store_key_sequence(model, number);
    struct nb_store_key by_id = nb_store_key_id(model, id);
    rc = nb_store_delete(view, NB_TABLE_HISTORY, nb_store_key_string(&key), error);
    if (rc == 0)
        rc = nb_store_delete(view, NB_TABLE_HISTORY_IDS, nb_store_key_string(&by_id), error);
    *removed = rc == 0;
    return rc;
}

int nb_history_put(const struct nb_view *view, uint32_t model, struct nb_string id,
                   struct nb_string stored, struct nb_error *error)
{
    bool removed;
    uint64_t number;
    int rc = next_number(view, model, &number, error);
    if (rc == 0)
        rc = nb_history_remove(view, model, id, &removed, error);
    if (rc == 0)
        rc = put_number(view, model, id, number, error);
    if (rc != 0)
        return rc;
    struct nb_store_key key = nb_store_key_sequence(model, number);
    return nb_store_put(view, NB_TABLE_HISTORY, nb_store_key_string(&key), stored, error);
}

int nb_history_find(const struct nb_view *view, uint32_t model, struct nb_string id,
                    uint64_t records, struct nb_string *stored, struct nb_error *error)
{
    uint64_t number, next;
    int rc = number_of(view, model, id, &number, error);
    if (rc == 0)
        rc = next_number(view, model, &next, error);
    if (rc != 0)
        return rc;
    if (next > number && next - 1 - number >= records)
        return NB_NOT_FOUND;
    struct nb_store_key key = nb_store_key_sequence(model, number);
    rc = nb_store_get(view, NB_TABLE_HISTORY, nb_store_key_string(&key), stored, error);
    return rc != NB_NOT_FOUND ? rc
                              : nb_error_set(error, NB_CORRUPT, "a verdict of the history is lost");
}

int nb_history_before(const struct nb_view *view, uint32_t model, uint64_t before, uint64_t *number,
                      struct nb_string *stored, struct nb_error *error)
{
    struct nb_store_key most = nb_store_key_sequence(model, before - 1);
    struct nb_string key;
    assert(before > 0);
    int rc = nb_store_floor(view, NB_TABLE_HISTORY, nb_store_key_string(&most), MODEL_BYTES, &key,
                            stored, error);
    if (rc == 0)
        *number = nb_store_key_tail(key);
    return rc;
}

/* ---- trimming -------------------------------------------------------------------------------- */

struct oldest {
    const struct nb_history_limits *limits;
    uint64_t newest; /* number */
    struct nb_buffer id;
    bool is_due;
};

/* Whether the limits leave out the oldest record. */
static int look(void *user, struct nb_string key, struct nb_string value, struct nb_error *error)
{
    struct oldest *o = user;
    struct nb_history_record record;
    int rc = nb_history_read(&record, value, error);
    if (rc != 0)
        return rc;
    o->is_due =
        nb_store_key_tail(key) + o->limits->records <= o->newest || record.time < o->limits->since;
    o->id.length = 0;
    if (o->is_due && nb_buffer_append(&o->id, record.id.bytes, record.id.length) != 0)
        return nb_error_no_memory(error);
    return 1;
}

int nb_history_trim(const struct nb_view *view, uint32_t model,
                    const struct nb_history_limits *limits, size_t most, size_t *removed,
                    struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_model(model);
    struct nb_string prefix = nb_store_key_string(&key);
    struct oldest o = {.limits = limits};
    struct nb_error why = {0};
    int rc = next_number(view, model, &o.newest, &why);
    o.newest--;
    *removed = 0;
    while (rc == 0 && o.newest > 0 && *removed < most) {
        bool gone = false;
        o.is_due = false;
        rc = nb_store_scan(view, NB_TABLE_HISTORY, prefix, prefix.length, look, &o, &why);
        if (rc < 0 || !o.is_due)
            break;
        rc = nb_history_remove(view, model, (struct nb_string){o.id.bytes, o.id.length}, &gone,
                               &why);
        if (rc == 0 && !gone)
            rc = NB_CORRUPT; /* no id refers to it */
        (*removed)++;
    }
    nb_buffer_deinit(&o.id);
    if (rc == NB_CORRUPT)
        return nb_history_clear(view, model, error);
    return rc >= 0 ? 0 : nb_error_set(error, rc, "%s", why.text);
}
