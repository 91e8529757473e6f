/* SPDX-License-Identifier: Apache-2.0 */
#include "core/store/quarantine.h"

#include <assert.h>

enum { UNTRAIN = 1, TRUNCATED = 2, FLAGS = 3 };

int nb_quarantined_add(struct nb_buffer *features, const struct nb_quarantined_feature *feature)
{
    struct nb_packer p = {.out = features};
    nb_pack_u64(&p, feature->id);
    nb_pack_varint(&p, feature->count);
    nb_pack_string(&p, feature->text);
    return p.code;
}

int nb_quarantined_write(const struct nb_quarantined *q, struct nb_buffer *out)
{
    struct nb_packer p = {.out = out};
    nb_pack_u8(&p, (uint8_t)((q->untrain ? UNTRAIN : 0) | (q->truncated ? TRUNCATED : 0)));
    nb_pack_u64(&p, (uint64_t)q->time);
    nb_pack_string(&p, q->source);
    nb_pack_string(&p, q->label);
    nb_pack_varint(&p, q->fields);
    nb_pack_varint(&p, q->positions);
    nb_pack_bytes(&p, q->features.bytes, q->features.length);
    return p.code;
}

struct nb_quarantined_feature nb_quarantined_next(struct nb_unpacker *u)
{
    struct nb_quarantined_feature feature = {.id = nb_unpack_u64(u)};
    feature.count = (uint32_t)nb_unpack_bounded(u, UINT32_MAX);
    feature.text = nb_unpack_string(u);
    return feature;
}

int nb_quarantined_read(struct nb_quarantined *q, struct nb_string stored, struct nb_error *error)
{
    struct nb_unpacker u = nb_unpacker_of(stored.bytes, stored.length);
    uint8_t flags = nb_unpack_u8(&u);
    *q = (struct nb_quarantined){.untrain = (flags & UNTRAIN) != 0,
                                 .truncated = (flags & TRUNCATED) != 0};
    q->time = (int64_t)nb_unpack_u64(&u);
    q->source = nb_unpack_string(&u);
    q->label = nb_unpack_string(&u);
    q->fields = (uint32_t)nb_unpack_bounded(&u, UINT32_MAX);
    q->positions = nb_unpack_varint(&u);
    q->features = (struct nb_string){(const char *)u.at, (size_t)(u.end - u.at)};
    bool good = !u.failed && (flags & ~FLAGS) == 0;
    for (; good && u.at < u.end && !u.failed; q->feature_count++)
        good = nb_quarantined_next(&u).count > 0;
    if (good && !u.failed && (!q->untrain || q->feature_count == 0))
        return 0;
    return nb_error_set(error, NB_CORRUPT, "a change in the quarantine does not read back");
}

/* ---- the table ------------------------------------------------------------------------------- */

static int add_value(void *user, struct nb_string key, struct nb_string value,
                     struct nb_error *error)
{
    struct nb_quarantine_sums *sums = user;
    (void)key;
    (void)error;
    sums->documents++;
    sums->bytes += value.length;
    return 0;
}

int nb_quarantine_count(const struct nb_view *view, uint32_t model, struct nb_quarantine_sums *sums,
                        struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_model(model);
    if (sums->known)
        return 0;
    *sums = (struct nb_quarantine_sums){.known = false};
    int rc = nb_store_scan(view, NB_TABLE_QUARANTINE, nb_store_key_string(&key), key.length,
                           add_value, sums, error);
    sums->known = rc == 0;
    return rc;
}

int nb_quarantine_remove(const struct nb_view *view, uint32_t model, struct nb_string id,
                         struct nb_quarantine_sums *sums, struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_id(model, id);
    struct nb_string value;
    int rc = nb_store_get(view, NB_TABLE_QUARANTINE, nb_store_key_string(&key), &value, error);
    if (rc != 0 && rc != NB_CORRUPT)
        return rc == NB_NOT_FOUND ? 0 : rc;
    sums->known = sums->known && rc == 0; /* how long damaged bytes were is not known */
    if (sums->known) {
        assert(sums->documents > 0 && sums->bytes >= value.length);
        sums->documents--;
        sums->bytes -= value.length;
    }
    return nb_store_delete(view, NB_TABLE_QUARANTINE, nb_store_key_string(&key), error);
}

int nb_quarantine_put(const struct nb_view *view, uint32_t model, struct nb_string id,
                      struct nb_string stored, struct nb_quarantine_sums *sums,
                      struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_id(model, id);
    int rc = nb_quarantine_remove(view, model, id, sums, error);
    if (rc != 0)
        return rc;
    assert(sums->known);
    sums->documents++;
    sums->bytes += stored.length;
    return nb_store_put(view, NB_TABLE_QUARANTINE, nb_store_key_string(&key), stored, error);
}

int nb_quarantine_has(const struct nb_view *view, uint32_t model, struct nb_string id,
                      struct nb_string stored, bool *has, struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_id(model, id);
    struct nb_string value;
    int rc = nb_store_get(view, NB_TABLE_QUARANTINE, nb_store_key_string(&key), &value, error);
    *has = rc == 0 && nb_string_same(value, stored);
    return rc == NB_NOT_FOUND || rc == NB_CORRUPT ? 0 : rc;
}
